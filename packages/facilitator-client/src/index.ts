export * from './client'
export * from './errors'
export { createAuthHeaders, facilitatorConfig } from './headers'
