export { type JsonSchema, type OpenApiDocument, operationsOf, responseAt } from './document'
export { createReference } from './handlers'
export { createOpenApi } from './openapi'
export { type Operation } from './operation'
