import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../../scripts/prepare.mjs'

/** Loads a library as a room of the project has it: what is measured and what measures it are of one version. */
export const borrowFrom = (room) => createRequire(join(root, room, 'package.json'))
