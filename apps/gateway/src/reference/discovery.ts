import { PaymentRequirements, PricingPlan, x402V1Networks } from '@tollgate/protocol'
import { type Request, type Response } from 'express'
import { z } from 'zod'
import { type Catalog, type Plan } from '../catalog/catalog'
import { getCallPrices } from '../catalog/call-prices'
import { planAnswer } from '../catalog/handlers'
import { requirementsOf } from '../payments/requirements'

const MAX_AGE_SECONDS = 60

const instructions =
  'Sign in first: GET /auth/nonce, sign the message, POST /auth/login. Then POST to the resource with the bearer token; on 402 pay and send the same request again with X-PAYMENT. See /llms.txt.'

const Item = z.object({
  resource: z.string().describe('The URL that is paid for.'),
  type: z.literal('http'),
  x402Version: z.literal(1),
  accepts: z
    .array(PaymentRequirements)
    .describe(
      'What it costs on each plan that a client of x402 version 1 can pay: it knows the network and learns how to sign.',
    ),
  lastUpdated: z.iso.datetime().describe('When these plans were read.'),
  metadata: z.record(z.string(), z.unknown()).describe('What it is, and where its documents are.'),
})

/** `resources` and `items` are the two conventions in use; `plans` is our own. */
export const Discovery = z
  .object({
    version: z.literal(1),
    x402Version: z.literal(1),
    resources: z.array(z.string()).describe('The URLs that are paid for.'),
    instructions: z.string().describe('How to use them, for people and models.'),
    items: z.array(Item),
    plans: z.array(PricingPlan).describe('All plans that are sold, as `GET /pricing` lists them.'),
  })
  .meta({
    id: 'Discovery',
    description: 'The paid endpoint of this origin and its prices.',
    examples: [
      {
        version: 1,
        x402Version: 1,
        resources: ['https://gateway.example/rpc'],
        instructions,
        items: [],
        plans: [],
      },
    ],
  })
export type Discovery = z.infer<typeof Discovery>

/** Not cached, so that a retired plan is not offered. */
export const createDiscovery =
  (catalog: Pick<Catalog, 'getActivePlans' | 'readProviders'>, publicUrl: string, now: () => Date) =>
  async (_req: Request, res: Response) => {
    const plans = await catalog.getActivePlans()
    const callPrices = await getCallPrices(catalog)
    res.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`).json({
      ...discoveryOf(plans, publicUrl, now()),
      plans: plans.map((plan) => planAnswer(plan, callPrices)),
    })
  }

function discoveryOf(plans: readonly Plan[], publicUrl: string, now: Date): Omit<Discovery, 'plans'> {
  const resource = `${publicUrl}/rpc`
  return {
    version: 1,
    x402Version: 1,
    resources: [resource],
    instructions,
    items: [
      {
        resource,
        type: 'http',
        x402Version: 1,
        accepts: plans
          .filter(({ network }) => x402V1Networks.has(network))
          .map((plan) => requirementsOf(plan, resource))
          .filter(({ extra }) => extra !== undefined),
        lastUpdated: now.toISOString(),
        metadata: {
          name: 'Tollgate gateway',
          description: 'Paid RPC and REST calls to blockchains, with credits bought over x402',
          method: 'POST',
          authentication: 'A bearer token from POST /auth/login',
          openapi: `${publicUrl}/openapi.json`,
          documentation: `${publicUrl}/docs`,
        },
      },
    ],
  }
}
