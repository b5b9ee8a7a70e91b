export { closeAll, closeLater } from './closing'
export { runBin, runMain } from './command-line'
export { emptyDatabase, migratedDatabase } from './database'
export { type Line, readableLog } from './log'
