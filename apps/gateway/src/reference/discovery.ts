import { PaymentRequirements, PaymentRequirementsV2, PricingPlan } from '@tollgate/protocol'
import { type Request, type Response } from 'express'
import { z } from 'zod'
import { type Catalog, type Plan } from '../catalog/catalog'
import { getCallPrices } from '../catalog/call-prices'
import { type Chain } from '../catalog/chains'
import { planAnswer } from '../catalog/handlers'
import { type Supported } from '../catalog/supported'
import { isPayableByV1, offersOf, requirementsOf, type Offer } from '../payments/requirements'

const MAX_AGE_SECONDS = 60

const instructions =
  'Call a URL under /v1/ without credentials: the 402 says what to pay; sign it and send the same request again with X-PAYMENT or PAYMENT-SIGNATURE. To spend the other credits that you bought, or to call /rpc, sign in: GET /auth/nonce, sign the message, POST /auth/login. See /llms.txt.'

const item = {
  resource: z.string().describe('The URL that is paid for.'),
  type: z.literal('http'),
  lastUpdated: z.iso.datetime().describe('When these plans were read.'),
  metadata: z.record(z.string(), z.unknown()).describe('What it is, and where its documents are.'),
}
const Item = z.union([
  z.object({
    ...item,
    x402Version: z.literal(1),
    accepts: z
      .array(PaymentRequirements)
      .describe('What it costs on each plan that a client of x402 version 1 can pay.'),
  }),
  z.object({
    ...item,
    x402Version: z.literal(2),
    accepts: z
      .array(PaymentRequirementsV2)
      .describe('What it costs, with an entry for each plan and each way to pay it.'),
  }),
])

/** `resources` and `items` are the two conventions in use; `plans` is our own. */
export const Discovery = z
  .object({
    version: z.literal(1),
    x402Version: z.literal(2),
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
        x402Version: 2,
        resources: ['https://gateway.example/rpc', 'https://gateway.example/v1/eip155:84532'],
        instructions,
        items: [],
        plans: [],
      },
    ],
  })
export type Discovery = z.infer<typeof Discovery>

type Dependencies = {
  catalog: Pick<Catalog, 'getActivePlans' | 'readProviders' | 'readChains'>
  findFeePayer: Supported['findFeePayer']
  publicUrl: string
  now: () => Date
}

/** Not cached, so that a retired plan is not offered. */
export const createDiscovery =
  ({ catalog, findFeePayer, publicUrl, now }: Dependencies) =>
  async (_req: Request, res: Response) => {
    const plans = await catalog.getActivePlans()
    const callPrices = await getCallPrices(catalog)
    const offers = await Promise.all(
      plans.map(async (plan) => ({ plan, feePayer: await findFeePayer(plan) })),
    )
    const chains = await catalog.readChains().catch(() => undefined)
    const lastUpdated = now().toISOString()
    const items = [
      rpcItem(plans, publicUrl, lastUpdated),
      ...(chains?.list ?? []).map((chain) => plainItem(chain, offers, publicUrl, lastUpdated)),
    ]
    const discovery: Discovery = {
      version: 1,
      x402Version: 2,
      resources: items.map(({ resource }) => resource),
      instructions,
      items,
      plans: plans.map((plan) => planAnswer(plan, callPrices)),
    }
    res.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`).json(discovery)
  }

type Item = Discovery['items'][number]

function rpcItem(plans: readonly Plan[], publicUrl: string, lastUpdated: string): Item {
  const resource = `${publicUrl}/rpc`
  return {
    resource,
    type: 'http',
    x402Version: 1,
    accepts: plans.filter(isPayableByV1).map((plan) => requirementsOf(plan, resource)),
    lastUpdated,
    metadata: {
      name: 'Tollgate gateway',
      description: 'Paid RPC and REST calls to blockchains, with credits bought over x402',
      method: 'POST',
      authentication: 'A bearer token from POST /auth/login',
      ...documentsOf(publicUrl),
    },
  }
}

/** The plain URL of a chain, which takes a payment without a sign-in. */
function plainItem(
  { caip2, network }: Chain,
  offers: readonly Offer[],
  publicUrl: string,
  lastUpdated: string,
): Item {
  return {
    resource: `${publicUrl}/v1/${caip2}`,
    type: 'http',
    x402Version: 2,
    accepts: offers.flatMap(offersOf),
    lastUpdated,
    metadata: {
      name: `JSON-RPC of ${network}`,
      description: 'Paid calls to this chain, as at a node',
      method: 'POST',
      authentication: 'None: a payment comes with the call',
      ...documentsOf(publicUrl),
    },
  }
}

const documentsOf = (publicUrl: string) => ({
  openapi: `${publicUrl}/openapi.json`,
  documentation: `${publicUrl}/docs`,
})
