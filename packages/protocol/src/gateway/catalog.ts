import { z } from 'zod'
import { Amount } from '../amount'
import { Ecosystem } from '../networks'
import { PlanId, text } from './fields'

/** x402's `assetTransferMethod`: how an EVM token is moved. */
export const TransferMethod = z.enum(['eip3009', 'permit2'])
export type TransferMethod = z.infer<typeof TransferMethod>

const methodCredits = z
  .record(z.string(), z.int().min(1))
  .describe('Credits by method. A method that is not named costs one.')
const notServed = z
  .array(z.string())
  .describe('Methods that are refused and cost nothing, because they cannot be served over HTTP.')

const CallPrices = z
  .object({
    ecosystem: Ecosystem.describe('The ecosystem of the called chain.'),
    chain_id: z.string().describe('The called chain.'),
    transports: z.array(z.enum(['rpc', 'rest'])).describe('The transports that this concerns.'),
    method_credits: methodCredits,
    not_served: notServed,
  })
  .meta({
    id: 'CallPrices',
    description: 'What calls to a chain cost. A batch costs the sum of its entries.',
  })

export const PricingPlan = z
  .object({
    id: PlanId,
    plan_name: z.string().describe('Its name, for people.'),
    chain_id: z.string().describe('The chain on which it is paid.'),
    network: z.string().describe('That chain’s name.'),
    ecosystem: Ecosystem.describe('That chain’s ecosystem.'),
    asset_address: z.string().describe('The asset it is paid in: a token’s address, or a denomination.'),
    amount: Amount.describe('The price, in the asset’s smallest unit.'),
    decimals: z.int().describe('How many decimals the asset has.'),
    display_denom: z.string().describe('The asset’s symbol.'),
    credits: z.int().describe('The credits that one payment buys.'),
    pay_to: z.string().describe('The recipient.'),
    asset_transfer_method: z
      .literal('permit2')
      .optional()
      .describe(
        'x402’s `assetTransferMethod`: `permit2` if the plan is paid by Permit2 and not by EIP-3009. Left out of all other plans.',
      ),
    price_per_credit: z
      .string()
      .regex(/^\d+(\.\d+)?$/)
      .describe('The price of one credit, `amount` over `credits`, in units of `display_denom`.'),
    calls: z.array(CallPrices).describe('What the credits are spent on, by chain: the same for every plan.'),
  })
  .meta({
    id: 'PricingPlan',
    description: 'What a wallet can buy.',
    examples: [
      {
        id: 1,
        plan_name: 'Starter',
        chain_id: '84532',
        network: 'base-sepolia',
        ecosystem: 'evm',
        asset_address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
        amount: '10000',
        decimals: 6,
        display_denom: 'USDC',
        credits: 100,
        pay_to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
        price_per_credit: '0.0001',
        calls: [
          {
            ecosystem: 'evm',
            chain_id: '84532',
            transports: ['rpc'],
            method_credits: { eth_getLogs: 5 },
            not_served: ['eth_subscribe', 'eth_unsubscribe'],
          },
        ],
      },
    ],
  })
export type PricingPlan = z.infer<typeof PricingPlan>

/** As many digits as a `PlanId`, so that an unknown plan is 404, not 400. */
export const PlanPath = z.object({
  id: z
    .string()
    .regex(/^[1-9][0-9]{0,9}$/, 'must be a plan’s number')
    .transform(Number)
    .meta({ description: 'The number of the plan.', examples: ['1'] }),
})

export const Provider = z
  .object({
    id: z.int(),
    provider_id: z.string().describe('Its name in `GET /providers/{id}`.'),
    category: Ecosystem.describe('The ecosystem of its chain.'),
    chain_id: z.string().describe('The chain it serves.'),
    network: z.string().describe('That chain’s name; its id if it has none.'),
    rpc: z
      .array(z.string())
      .describe(
        'Base URLs for calls over `rpc`. In place of one that needs a key, this service’s own plain URL of the chain.',
      ),
    rest: z.array(z.string()).describe('Base URLs for calls over `rest`, likewise; may be empty.'),
    description: z.string().describe('A description for display.'),
    methods: methodCredits,
    not_served: notServed,
  })
  .meta({
    id: 'Provider',
    description: 'An upstream of a chain.',
    examples: [
      {
        id: 1,
        provider_id: 'base-sepolia-main',
        category: 'evm',
        chain_id: '84532',
        network: 'base-sepolia',
        rpc: ['https://rpc.example/base-sepolia'],
        rest: [],
        description: 'Base Sepolia, full node',
        methods: { eth_getLogs: 5 },
        not_served: ['eth_subscribe', 'eth_unsubscribe'],
      },
    ],
  })
export type Provider = z.infer<typeof Provider>

export const ProviderPath = z.object({
  id: text(128).meta({ description: 'The `provider_id` of the provider.', examples: ['base-sepolia-main'] }),
})

export const ProviderQuery = z.object({
  category: text(32).meta({ description: 'The ecosystem, such as `evm`.', examples: ['evm'] }),
  chain_id: text(64).meta({ description: 'The chain.', examples: ['84532'] }),
})

export const SupportedPaymentKind = z
  .object({
    scheme: z.string().describe('How it is paid, such as `exact`.'),
    network: z.string().describe('The network’s name.'),
    asset: z.string().describe('The asset’s address or denomination.'),
    assetTransferMethod: z
      .literal('permit2')
      .optional()
      .describe('`permit2` if the asset takes no EIP-3009 authorizations. Left out of all other assets.'),
  })
  .meta({
    id: 'SupportedPaymentKind',
    examples: [
      { scheme: 'exact', network: 'base-sepolia', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' },
    ],
  })
export type SupportedPaymentKind = z.infer<typeof SupportedPaymentKind>
