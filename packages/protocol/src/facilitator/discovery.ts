import { z } from 'zod'
import { PaymentRequirements } from '../x402'
import { PaymentRequirementsV2 } from '../x402-v2'
import { page } from './fields'

/** A filter. A value without matches is not an error: the list is empty. */
const only = (max: number, what: string) =>
  z
    .string()
    .max(max)
    .optional()
    .meta({ description: `Only those ${what}.` })

/**
 * The registry as x402 clients list it (`GET /discovery/resources`): only resources with an absolute URL,
 * with every payment option written out.
 */
export const DiscoveryQuery = z.object({
  ...page(100, 100),
  type: only(32, 'of this type: `http`'),
  network: only(128, 'payable on this network: its name, chain id or CAIP-2 text'),
  payTo: only(256, 'that pay this address'),
  scheme: only(32, 'paid in this way: `exact`'),
  extensions: only(128, 'with this extension of the protocol: none has any'),
})
export type DiscoveryQuery = z.infer<typeof DiscoveryQuery>

const item = <V extends number, A extends z.ZodType>(version: V, accepts: A) =>
  z.object({
    resource: z.string().describe('The URL that is paid for.'),
    type: z.literal('http'),
    x402Version: z.literal(version).describe('The x402 version that its server speaks.'),
    accepts: z.array(accepts).describe('The payment options that are currently accepted.'),
    lastUpdated: z.iso.datetime(),
    metadata: z.record(z.string(), z.unknown()),
  })

const list = <V extends number, I extends z.ZodType>(version: V, items: I) =>
  z
    .object({
      x402Version: z.literal(version),
      items: z.array(items),
      pagination: z.object({
        limit: z.int(),
        offset: z.int(),
        total: z.int().describe('The number of matches on all pages.'),
      }),
    })
    .meta({
      examples: [{ x402Version: version, items: [], pagination: { limit: 100, offset: 0, total: 0 } }],
    })

export const DiscoveredResource = item(1, PaymentRequirements).meta({ id: 'DiscoveredResource' })
export type DiscoveredResource = z.infer<typeof DiscoveredResource>
export const DiscoveryList = list(1, DiscoveredResource)

export const DiscoveredResourceV2 = item(2, PaymentRequirementsV2)
  .extend({
    description: z.string().optional().describe('A description of the resource.'),
    mimeType: z.string().optional().describe('The media type of the resource.'),
  })
  .meta({ id: 'DiscoveredResourceV2' })
export type DiscoveredResourceV2 = z.infer<typeof DiscoveredResourceV2>
export const DiscoveryListV2 = list(2, DiscoveredResourceV2)
