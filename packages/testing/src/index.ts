export { closeAll, closeLater } from './closing'
export { migratedDatabase } from './database'
export { type Line, readableLog } from './log'
