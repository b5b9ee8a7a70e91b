import type { Ecosystem } from '@tollgate/protocol'
import { cosmos } from './cosmos/family'
import { evm } from './evm/family'
import type { Family } from './family'

/** To add a family, add its folder and its entry here. */
export const families: Partial<Record<Ecosystem, Family>> = { evm, cosmos }
