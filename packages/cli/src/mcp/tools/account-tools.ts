import { type Tollgate } from '@tollgate/wallet'
import { z } from 'zod'
import { boundList } from '../bounded-list'
import { defineTool, type Tool } from '../tool'

const readOnly = { readOnlyHint: true, openWorldHint: true }

export function createCredits(tollgate: Tollgate): Tool {
  return defineTool({
    name: 'credits',
    title: 'Credits left',
    description:
      'The credits that this wallet has left at the gateway, on each plan; plan 0 is credits that it got for free. Most calls cost one credit. Free.',
    input: {},
    output: {
      wallet: z.string(),
      balances: z.array(z.object({ plan: z.number(), credits: z.number() })),
      note: z.string().optional(),
    },
    annotations: readOnly,
    async run() {
      const [wallet, balances] = await Promise.all([tollgate.address(), tollgate.credits()])
      const { items, ...note } = boundList(
        balances.map(({ pricing_plan_id, remaining_credits }) => ({
          plan: pricing_plan_id,
          credits: remaining_credits,
        })),
      )
      return { wallet, balances: items, ...note }
    },
  })
}

export function createHistory(tollgate: Tollgate): Tool {
  return defineTool({
    name: 'history',
    title: 'Earlier calls',
    description:
      'The calls that this wallet has made, newest first: chain, method, credits charged, outcome and time. For the next page, give the `id` of the last call as `before`. Free.',
    input: {
      limit: z.int().min(1).max(100).default(20).describe('Calls on one page'),
      before: z.int().min(1).optional().describe('Only calls older than the one with this id'),
    },
    output: {
      total: z.number(),
      calls: z.array(
        z.object({
          id: z.number(),
          chain_id: z.string(),
          transport: z.string(),
          method: z.string().nullable(),
          credits: z.number(),
          outcome: z.string(),
          status: z.number().nullable(),
          latency_ms: z.number().nullable(),
          time: z.string(),
        }),
      ),
      note: z.string().optional(),
    },
    annotations: readOnly,
    async run({ limit, before }) {
      const { data, total } = await tollgate.history({ limit, ...(before === undefined ? {} : { before }) })
      const calls = data.map((call) => ({
        id: call.id,
        chain_id: call.chain_id,
        transport: call.transport,
        method: call.rpc_method,
        credits: call.credits,
        outcome: call.outcome,
        status: call.status_code,
        latency_ms: call.latency_ms,
        time: call.created_at,
      }))
      const { items, ...note } = boundList(calls)
      return { total, calls: items, ...note }
    },
  })
}
