export { closeAll, closeLater } from './closing'
export { migratedDatabase } from './database'
