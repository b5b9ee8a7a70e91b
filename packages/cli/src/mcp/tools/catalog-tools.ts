import { type Plan, type Tollgate } from '@tollgate/wallet'
import { z } from 'zod'
import { networkOf } from '../../amounts'
import { describeAmount } from '../../assets/asset-amounts'
import { type KnownAsset } from '../../assets/stablecoins'
import { boundList } from '../bounded-list'
import { findChain, listChains, type Chain } from '../gateway-info'
import { defineTool, type Tool } from '../tool'
import { ChainName, MethodName } from './inputs'

const ChainOutput = z.object({
  chain: z.string().describe('The CAIP-2 id, for `chain` of rpc_call'),
  name: z.string().nullable(),
  ecosystem: z.string(),
  chain_id: z.string(),
  transports: z.array(z.string()).describe('rpc: JSON-RPC; rest: the REST API'),
  method_credits: z.record(z.string(), z.number()).describe('Credits of the methods that do not cost 1'),
  not_served: z.array(z.string()),
})

/** In characters. The costs of a call name each plan a second time. */
const MAX_PLANS = 60_000

const readOnly = { readOnlyHint: true, openWorldHint: true }

export function createListChains(tollgate: Tollgate): Tool {
  return defineTool({
    name: 'list_chains',
    title: 'List the blockchains',
    description:
      'Lists the blockchains that rpc_call can call: their ids and names, whether they take JSON-RPC or REST, the methods that cost more or less than one credit, and those that are refused. Free.',
    input: {},
    output: { chains: z.array(ChainOutput), note: z.string().optional() },
    annotations: readOnly,
    async run(_, { signal }) {
      const { items: chains, ...note } = boundList(await listChains(tollgate, await tollgate.plans(), signal))
      return { chains, ...note }
    },
  })
}

export function createPrice(tollgate: Tollgate, known: readonly KnownAsset[]): Tool {
  return defineTool({
    name: 'price',
    title: 'What calls cost',
    description:
      'Tells what calls cost before you make them: the plans on sale (one payment buys the credits of a plan), the price of one credit, the credits left of this wallet, and, with `chain` and `method`, what one call of that method costs on each plan. Free.',
    input: { chain: ChainName.optional(), method: MethodName.optional() },
    output: {
      plans: z.array(
        z.object({
          id: z.number(),
          name: z.string(),
          network: z.string(),
          asset: z.string(),
          price: z.string().describe('Of one purchase, such as 0.01 USDC'),
          amount: z.string().describe('The same in the asset’s smallest unit'),
          credits: z.number().describe('That one purchase buys'),
          price_per_credit: z.string(),
          credits_left: z.number(),
        }),
      ),
      call: z
        .object({
          chain: z.string(),
          method: z.string().nullable(),
          is_served: z.boolean(),
          credits: z.number(),
          costs: z.array(z.object({ plan: z.number(), price: z.string() })),
        })
        .optional(),
      note: z.string().optional(),
    },
    annotations: readOnly,
    async run({ chain, method }, { signal }) {
      const [sold, balances] = await Promise.all([tollgate.plans(), tollgate.credits()])
      const { items: plans, ...note } = boundList(sold, MAX_PLANS)
      const offers = plans.map((plan) => ({
        id: plan.id,
        name: plan.plan_name,
        network: networkOf(plan),
        asset: plan.asset_address,
        price: describeAmount(plan.amount, assetOf(plan), known),
        amount: plan.amount,
        credits: plan.credits,
        price_per_credit: priceOfCalls(plan, 1, known),
        credits_left:
          balances.find(({ pricing_plan_id }) => pricing_plan_id === plan.id)?.remaining_credits ?? 0,
      }))
      if (chain === undefined) return { plans: offers, ...note }
      const found = findChain(await listChains(tollgate, sold, signal), chain)
      const credits = creditsOf(found, method)
      const costs = plans.map((plan) => ({ plan: plan.id, price: priceOfCalls(plan, credits, known) }))
      const isServed = method === undefined || !found.not_served.includes(method)
      const call = { chain: found.chain, method: method ?? null, is_served: isServed, credits, costs }
      return { plans: offers, call, ...note }
    },
  })
}

function creditsOf({ method_credits }: Chain, method: string | undefined): number {
  return method !== undefined && Object.hasOwn(method_credits, method) ? (method_credits[method] ?? 1) : 1
}

const assetOf = (plan: Plan) => ({ network: networkOf(plan), asset: plan.asset_address })

/** Decimals of a smallest unit, which one credit may cost a part of. */
const SCALE = 12

/** In decimals that are known, whatever the gateway states. */
export function priceOfCalls(plan: Plan, credits: number, known: readonly KnownAsset[]): string {
  if (
    ![plan.credits, credits].every((count) => Number.isSafeInteger(count) && count >= 0) ||
    plan.credits === 0
  )
    return 'unknown'
  const parts = (BigInt(plan.amount) * BigInt(credits) * 10n ** BigInt(SCALE)) / BigInt(plan.credits)
  return describeAmount(parts, assetOf(plan), known, SCALE)
}
