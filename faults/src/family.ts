import { type Overrides } from '@tollgate/devnet'
import { type Plan } from '@tollgate/e2e/testing/catalog'
import { newCosmosCustomer, newCustomer, type Customer } from '@tollgate/e2e/testing/customers'
import { type World } from '@tollgate/e2e/testing/world'
import { openCosmos, type Cosmos } from './cosmos/chain'
import { createPaymentVariants } from './cosmos/payment-variants'
import { openEvm, type Evm } from './evm'
import { type PayingChain } from './paying-chain'

/** Settings to override; `rpcUrl` is the chain's own. */
export type NetworkChanges = (rpcUrl: string) => Record<string, unknown>

export type Family<C extends PayingChain = PayingChain> = {
  prefix: string
  helpPrefix: string
  open: (world: World) => Promise<C>
  planOf: (world: World) => Plan
  /** A customer with a session on a plan and this balance (smallest units). */
  newCustomer: (world: World, plan: Plan, money: bigint) => Promise<Customer>
  overrides: (changes?: NetworkChanges) => Overrides
}

export const evm: Family<Evm> = {
  prefix: '',
  helpPrefix: '',
  open: (world) => Promise.resolve(openEvm(world.infrastructure.anvil)),
  planOf: ({ plan }) => plan,
  newCustomer,
  overrides: (changes) => (changes ? { network: changes } : {}),
}

/** Above the cost of any number of rounds. */
const FEES = { gasless_max_fee: '10000', max_fees_per_day: '5000000000' }

const nextVariant = createPaymentVariants()

export const cosmos: Family<Cosmos> = {
  prefix: 'cosmos-',
  helpPrefix:
    'On the Cosmos chain. The facilitator pays the fees of two of three payments, and must first grant each an allowance.\n  ',
  open: ({ infrastructure }) => openCosmos(infrastructure.cosmos),
  planOf: ({ cosmosPlan }) => cosmosPlan,
  newCustomer: (world, plan, money) => newCosmosCustomer(world, plan, { uatom: money, ...nextVariant() }),
  overrides: (changes) => ({ cosmosNetwork: (rpcUrl) => ({ ...FEES, ...changes?.(rpcUrl) }) }),
}
