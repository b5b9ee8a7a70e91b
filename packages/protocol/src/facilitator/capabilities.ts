import { z } from 'zod'
import { Amount } from '../amount'
import { SettleRequest } from '../x402'
import { SettleRequestV2, SupportedKindsV2 } from '../x402-v2'
import { exampleAddress, exampleAsset } from './fields'

/** At the root: one address for both versions, which the body's `x402Version` selects. */
export const SettleRequestOfAnyVersion = z.union([SettleRequest, SettleRequestV2]).meta({
  id: 'PaymentRequestOfAnyVersion',
  examples: [SettleRequest, SettleRequestV2].flatMap(
    (schema) => (z.globalRegistry.get(schema)?.examples ?? []) as object[],
  ),
})

const exampleKinds = [
  { x402Version: 1, scheme: 'exact', network: 'base-sepolia' },
  { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
]
const exampleSupported = {
  kinds: exampleKinds,
  extensions: ['eip2612GasSponsoring', 'bazaar'],
  signers: { 'eip155:84532': [exampleAddress] },
}

/** `GET /supported` of the x402 version 2 specification, with the kinds of both versions. */
export const SupportedByFacilitator = SupportedKindsV2.extend({
  kinds: z.array(
    z.object({
      x402Version: z.union([z.literal(1), z.literal(2)]),
      scheme: z.string().describe('The payment scheme: `exact`.'),
      network: z.string().describe('In version 1 the network’s name, in version 2 CAIP-2.'),
      extra: z
        .record(z.string(), z.unknown())
        .optional()
        .describe(
          '`feePayer`, if the signed payment must name the fee payer; `feePayerSigns`, if that may sign too.',
        ),
    }),
  ),
  extensions: z
    .array(z.string())
    .describe(
      'The protocol extensions: `bazaar`, and those that at least one network supports, such as `eip2612GasSponsoring`.',
    ),
}).meta({ id: 'SupportedByFacilitator', examples: [exampleSupported] })
export type SupportedByFacilitator = z.infer<typeof SupportedByFacilitator>

/**
 * What a facilitator publishes at `/.well-known/x402`, as the draft of the x402 extension `discovery` has it; paths are
 * relative to `facilitator.baseUrl`. The member `discovery` is our own.
 */
export const FacilitatorDocument = z
  .object({
    x402Version: z.literal(2),
    kind: z.literal('facilitator'),
    name: z.string(),
    description: z.string(),
    facilitator: z.object({
      baseUrl: z.string().describe('The base URL of both x402 versions, for public clients.'),
      endpoints: z.object({ supported: z.string(), verify: z.string(), settle: z.string() }),
      kinds: SupportedByFacilitator.shape.kinds.describe('As `GET /supported` lists them.'),
      assets: z
        .array(
          z.object({
            network: z.string().describe('The network, as CAIP-2.'),
            address: z.string().describe('The asset’s address or denomination.'),
            symbol: z.string(),
            decimals: z.int(),
            minAmount: Amount.describe('The least that a payment may be of, in the smallest unit.'),
            extra: z
              .object({
                assetTransferMethod: z.literal('permit2').optional(),
                name: z.string().optional(),
                version: z.string().optional(),
              })
              .optional()
              .describe(
                'The `extra` of requirements in it. `name` and `version`: its EIP-712 domain; an asset with `assetTransferMethod` has them if it takes permits of EIP-2612, and otherwise its payers approve Permit2 by a transaction first.',
              ),
          }),
        )
        .describe('The assets for payments.'),
    }),
    discovery: z
      .object({ resources: z.string(), search: z.string(), merchant: z.string() })
      .describe('Paths of the lists of resources for x402 version 2.'),
    docs: z.string().describe('The API reference, as a page.'),
    openapi: z.string().describe('The API reference, as OpenAPI.'),
    llms: z.string().describe('A summary for language models.'),
  })
  .meta({
    id: 'FacilitatorDocument',
    examples: [
      {
        x402Version: 2,
        kind: 'facilitator',
        name: 'Tollgate facilitator',
        description: 'Verifies and settles x402 payments on chain.',
        facilitator: {
          baseUrl: 'https://facilitator.example',
          endpoints: { supported: '/supported', verify: '/verify', settle: '/settle' },
          kinds: exampleKinds,
          assets: [
            {
              network: 'eip155:84532',
              address: exampleAsset,
              symbol: 'USDC',
              decimals: 6,
              minAmount: '1000',
              extra: { name: 'USDC', version: '2' },
            },
          ],
        },
        discovery: {
          resources: '/api/v2/discovery/resources',
          search: '/discovery/search',
          merchant: '/discovery/merchant',
        },
        docs: 'https://facilitator.example/docs',
        openapi: 'https://facilitator.example/openapi.json',
        llms: 'https://facilitator.example/llms.txt',
      },
    ],
  })
export type FacilitatorDocument = z.infer<typeof FacilitatorDocument>
