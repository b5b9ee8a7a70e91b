import { createRequire } from 'node:module'
import { join } from 'node:path'
import { root } from '../../scripts/prepare.mjs'

/** Loads a library from a package of the project, so that the bench and the measured code use the same version. */
export const requireFrom = (folder) => createRequire(join(root, folder, 'package.json'))
