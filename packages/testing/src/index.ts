export { closeAll, closeLater } from './closing'
export { migratedDatabase } from './database'
export { readableLog } from './log'
