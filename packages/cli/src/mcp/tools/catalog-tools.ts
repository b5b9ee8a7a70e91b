import { type Tollgate } from '@tollgate/wallet'
import { z } from 'zod'
import { networkOf } from '../../amounts'
import { createAmountFormat } from '../amounts'
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

const readOnly = { readOnlyHint: true, openWorldHint: true }

export function createListChains(tollgate: Tollgate): Tool {
  return defineTool({
    name: 'list_chains',
    title: 'List the blockchains',
    description:
      'Lists the blockchains that rpc_call can call: their ids and names, whether they take JSON-RPC or REST, the methods that cost more or less than one credit, and those that are refused. Free.',
    input: {},
    output: { chains: z.array(ChainOutput) },
    annotations: readOnly,
    async run(_, { signal }) {
      return { chains: await listChains(tollgate, await tollgate.plans(), signal) }
    },
  })
}

export function createPrice(tollgate: Tollgate): Tool {
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
    },
    annotations: readOnly,
    async run({ chain, method }, { signal }) {
      const [plans, balances] = await Promise.all([tollgate.plans(), tollgate.credits()])
      const format = createAmountFormat(plans)
      const offers = plans.map((plan) => ({
        id: plan.id,
        name: plan.plan_name,
        network: networkOf(plan),
        asset: plan.asset_address,
        price: format(plan.amount, { network: networkOf(plan), asset: plan.asset_address }),
        amount: plan.amount,
        credits: plan.credits,
        price_per_credit: `${plan.price_per_credit} ${plan.display_denom}`,
        credits_left:
          balances.find(({ pricing_plan_id }) => pricing_plan_id === plan.id)?.remaining_credits ?? 0,
      }))
      if (chain === undefined) return { plans: offers }
      const found = findChain(await listChains(tollgate, plans, signal), chain)
      const credits = creditsOf(found, method)
      const costs = plans.map(({ id, price_per_credit, display_denom }) => ({
        plan: id,
        price: `${multiply(price_per_credit, credits)} ${display_denom}`,
      }))
      const isServed = method === undefined || !found.not_served.includes(method)
      const call = { chain: found.chain, method: method ?? null, is_served: isServed, credits, costs }
      return { plans: offers, call }
    },
  })
}

function creditsOf({ method_credits }: Chain, method: string | undefined): number {
  return method !== undefined && Object.hasOwn(method_credits, method) ? (method_credits[method] ?? 1) : 1
}

/** `multiply('0.0001', 3)` is `0.0003`, exactly. */
export function multiply(decimal: string, factor: number): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  const digits = (BigInt(`${whole}${fraction}`) * BigInt(factor))
    .toString()
    .padStart(fraction.length + 1, '0')
  const split = digits.length - fraction.length
  const rest = digits.slice(split).replace(/0+$/, '')
  return rest === '' ? digits.slice(0, split) : `${digits.slice(0, split)}.${rest}`
}
