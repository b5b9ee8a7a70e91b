import type { Ecosystem } from '@tollgate/protocol'
import { cosmos } from './cosmos/family'
import { evm } from './evm/family'
import type { Family } from './family'

/** Every kind of chain that we know; to add one is to add its folder and its word here. */
export const families: Partial<Record<Ecosystem, Family>> = { evm, cosmos }
