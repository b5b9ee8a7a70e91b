import { type Overrides } from '@tollgate/devnet'
import { type Plan } from '@tollgate/e2e/testing/catalog'
import { newCosmosCustomer, newCustomer, type Customer } from '@tollgate/e2e/testing/customers'
import { type World } from '@tollgate/e2e/testing/world'
import { openCosmos, type Cosmos } from './cosmos/chain'
import { createPaymentVariants } from './cosmos/payment-variants'
import { openEvm, type Evm } from './evm'
import { type PayingChain } from './paying-chain'

/** Settings of a network that are to be otherwise; `rpcUrl` is the chain's own. */
export type NetworkChanges = (rpcUrl: string) => Record<string, unknown>

export type Family<C extends PayingChain = PayingChain> = {
  /** How the names of scenarios begin that are played on it. */
  prefix: string
  /** The beginning of each scenario's help. */
  helpPrefix: string
  /** The chain of a world, as it is when nothing was settled there yet. */
  open: (world: World) => Promise<C>
  /** The plan of a world that is paid on it. */
  planOf: (world: World) => Plan
  /** A customer with a session on a plan and this balance (smallest units). */
  newCustomer: (world: World, plan: Plan, money: bigint) => Promise<Customer>
  alterations: (changes?: NetworkChanges) => Overrides
}

export const evm: Family<Evm> = {
  prefix: '',
  helpPrefix: '',
  open: (world) => Promise.resolve(openEvm(world.infrastructure.anvil)),
  planOf: ({ plan }) => plan,
  newCustomer,
  alterations: (changes) => (changes ? { network: changes } : {}),
}

/** Beyond what any number of rounds costs. */
const FEES = { gasless_max_fee: '10000', max_fees_per_day: '5000000000' }

const nextVariant = createPaymentVariants()

export const cosmos: Family<Cosmos> = {
  prefix: 'cosmos-',
  helpPrefix:
    'On the Cosmos chain. Of three payments the facilitator bears the fees of two, and has to grant each its allowance first.\n  ',
  open: ({ infrastructure }) => openCosmos(infrastructure.cosmos),
  planOf: ({ cosmosPlan }) => cosmosPlan,
  newCustomer: (world, plan, money) => newCosmosCustomer(world, plan, { uatom: money, ...nextVariant() }),
  alterations: (changes) => ({ cosmosNetwork: (rpcUrl) => ({ ...FEES, ...changes?.(rpcUrl) }) }),
}
