import { z } from 'zod'
import { PaymentRequirements } from '../x402'
import { PaymentRequirementsV2 } from '../x402-v2'
import { count } from '../query'
import { exampleAddress, MAX_ID, page, plainText } from './fields'

/** A filter. A value without matches is not an error: the list is empty. */
const only = (max: number, what: string) =>
  z
    .string()
    .max(max)
    .optional()
    .meta({ description: `Only those ${what}.` })

const filters = {
  type: only(32, 'of this type: `http` or `mcp`'),
  network: only(128, 'payable on this network: its name, chain id or CAIP-2 text'),
  payTo: only(256, 'that pay this address'),
  scheme: only(32, 'paid in this way: `exact`'),
  extensions: only(128, 'with this extension of the protocol: `bazaar`'),
}

const versionOfQuery = z
  .enum(['1', '2'])
  .default('2')
  .meta({ description: 'Only resources whose servers speak this x402 version, in its format.' })

/**
 * The registry as x402 clients list it (`GET /discovery/resources`): only resources with an absolute URL,
 * with every payment option written out.
 */
export const DiscoveryQuery = z.object({
  ...page(100, 100),
  ...filters,
})
export type DiscoveryQuery = z.infer<typeof DiscoveryQuery>

/** The root serves both versions; `x402Version` is our own. */
export const DiscoveryRootQuery = DiscoveryQuery.extend({ x402Version: versionOfQuery })

/** The most resources that a search ranks; further matches are left out. */
export const MAX_SEARCHED = 500

/** `GET /discovery/search`. `x402Version` is our own; the other members are those of public clients. */
export const DiscoverySearchQuery = z.object({
  query: plainText(256)
    .min(1)
    .meta({ description: 'What to search for, in words.', examples: ['weather'] }),
  x402Version: versionOfQuery,
  limit: count(1, MAX_ID)
    .default(20)
    .meta({ description: 'The maximum number of records; at most 100 are sent.' }),
  cursor: count(0, 2 * MAX_SEARCHED)
    .default(0)
    .meta({ description: 'The `cursor` of the previous page.' }),
  ...filters,
})
export type DiscoverySearchQuery = z.infer<typeof DiscoverySearchQuery>

/** `GET /discovery/merchant`. `x402Version` is our own; the other members are those of public clients. */
export const DiscoveryMerchantQuery = z.object({
  payTo: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'The address that is paid.', examples: [exampleAddress] }),
  x402Version: versionOfQuery,
  ...page(20, 100),
})
export type DiscoveryMerchantQuery = z.infer<typeof DiscoveryMerchantQuery>

const item = <V extends number, T extends z.ZodType, A extends z.ZodType>(version: V, type: T, accepts: A) =>
  z.object({
    resource: z.string().describe('The URL that is paid for.'),
    type,
    x402Version: z.literal(version).describe('The x402 version that its server speaks.'),
    accepts: z.array(accepts).describe('The payment options that are currently accepted.'),
    lastUpdated: z.iso.datetime(),
    metadata: z.record(z.string(), z.unknown()),
    source: z
      .enum(['registered', 'cataloged'])
      .describe(
        '`registered` by a user, or `cataloged` from a settled payment, which declared it and paid the `payTo` of `accepts`.',
      ),
    verified: z
      .boolean()
      .describe(
        'Whether the resource’s origin named the user that registered it, or whose client key settled the payment, within the last 7 days.',
      ),
  })

const list = <V extends number, I extends z.ZodType>(version: V, items: I) =>
  z
    .object({
      x402Version: z.literal(version),
      items: z.array(items),
      pagination: z.object({
        limit: z.int(),
        offset: z.int(),
        total: z
          .int()
          .describe('The number of matches on all pages; from 1,000 of a source on, up to 30 seconds old.'),
      }),
    })
    .meta({
      examples: [{ x402Version: version, items: [], pagination: { limit: 100, offset: 0, total: 0 } }],
    })

export const DiscoveredResource = item(1, z.literal('http'), PaymentRequirements).meta({
  id: 'DiscoveredResource',
})
export type DiscoveredResource = z.infer<typeof DiscoveredResource>
export const DiscoveryList = list(1, DiscoveredResource)

export const DiscoveredResourceV2 = item(2, z.enum(['http', 'mcp']), PaymentRequirementsV2)
  .extend({
    description: z.string().optional().describe('A description of the resource.'),
    mimeType: z.string().optional().describe('The media type of the resource.'),
    serviceName: z.string().optional().describe('The name of the service that has the resource.'),
    tags: z.array(z.string()).optional().describe('Topics of the service.'),
    iconUrl: z.string().optional().describe('An icon of the service.'),
    extensions: z
      .record(z.string(), z.unknown())
      .optional()
      .describe('`bazaar`: how to call the resource, as a settled payment declared it.'),
  })
  .meta({ id: 'DiscoveredResourceV2' })
export type DiscoveredResourceV2 = z.infer<typeof DiscoveredResourceV2>
export const DiscoveryListV2 = list(2, DiscoveredResourceV2)

export const DiscoveryRootList = z
  .union([DiscoveryListV2, DiscoveryList])
  .meta({ examples: [{ x402Version: 2, items: [], pagination: { limit: 100, offset: 0, total: 0 } }] })

const search = <V extends number, I extends z.ZodType>(version: V, item: I) =>
  z.object({
    x402Version: z.literal(version),
    resources: z.array(item),
    partialResults: z
      .boolean()
      .describe('Whether matches were left out, because there are too many to rank.'),
    pagination: z.object({
      limit: z.int(),
      cursor: z.string().nullable().describe('The `cursor` of the next page; null if this is the last.'),
    }),
  })
export const DiscoverySearchResult = z
  .union([
    search(2, DiscoveredResourceV2).meta({ id: 'DiscoverySearchResultV2' }),
    search(1, DiscoveredResource).meta({ id: 'DiscoverySearchResultV1' }),
  ])
  .meta({
    id: 'DiscoverySearchResult',
    examples: [
      { x402Version: 2, resources: [], partialResults: false, pagination: { limit: 20, cursor: null } },
    ],
  })

const merchant = <V extends number, I extends z.ZodType>(version: V, item: I) =>
  z.object({
    x402Version: z.literal(version),
    payTo: z.string(),
    resources: z.array(item),
    pagination: list(version, item).shape.pagination,
  })
export const MerchantResources = z
  .union([
    merchant(2, DiscoveredResourceV2).meta({ id: 'MerchantResourcesV2' }),
    merchant(1, DiscoveredResource).meta({ id: 'MerchantResourcesV1' }),
  ])
  .meta({
    id: 'MerchantResources',
    examples: [
      {
        x402Version: 2,
        payTo: exampleAddress,
        resources: [],
        pagination: { limit: 20, offset: 0, total: 0 },
      },
    ],
  })
