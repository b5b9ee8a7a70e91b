import { type Alterations } from '@tollgate/devnet'
import { type Plan } from '../testing/catalog'
import { newCosmosCustomer, newCustomer, type Customer } from '../testing/customers'
import { type World } from '../testing/world'
import { openCosmos, type Cosmos } from './cosmos/chain'
import { createManners } from './cosmos/manners'
import { openEvm, type Evm } from './evm'
import { type PayingChain } from './paying-chain'

/** Settings of a network that are to be otherwise; `rpcUrl` is the chain's own. */
export type NetworkChanges = (rpcUrl: string) => Record<string, unknown>

/** A kind of chain that a scenario can be played on. */
export type Family<C extends PayingChain = PayingChain> = {
  /** How the names of scenarios begin that are played on it. */
  prefix: string
  /** What the help of each of them begins with. */
  told: string
  /** The chain of a world, as it is when nothing was settled there yet. */
  open: (world: World) => Promise<C>
  /** The plan of a world that is paid on it. */
  planOf: (world: World) => Plan
  /** Somebody with a session on a plan, and so much to pay with (smallest units). */
  newCustomer: (world: World, plan: Plan, money: bigint) => Promise<Customer>
  alterations: (changes?: NetworkChanges) => Alterations
}

export const evm: Family<Evm> = {
  prefix: '',
  told: '',
  open: (world) => Promise.resolve(openEvm(world.foundation.anvil)),
  planOf: ({ plan }) => plan,
  newCustomer,
  alterations: (changes) => (changes ? { network: changes } : {}),
}

/** Beyond what any number of rounds costs. */
const FEES = { gasless_max_fee: '10000', max_fees_per_day: '5000000000' }

const nextManner = createManners()

export const cosmos: Family<Cosmos> = {
  prefix: 'cosmos-',
  told: 'On the Cosmos chain. Of three payments the facilitator bears the fees of two, and has to grant each its allowance first.\n  ',
  open: ({ foundation }) => openCosmos(foundation.cosmos),
  planOf: ({ cosmosPlan }) => cosmosPlan,
  newCustomer: (world, plan, money) => newCosmosCustomer(world, plan, { uatom: money, ...nextManner() }),
  alterations: (changes) => ({ cosmosNetwork: (rpcUrl) => ({ ...FEES, ...changes?.(rpcUrl) }) }),
}
