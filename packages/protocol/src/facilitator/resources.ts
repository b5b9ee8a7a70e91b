import { z } from 'zod'
import { Amount } from '../amount'
import { exampleAddress, exampleAsset, exampleTime, page } from './fields'
import { storableObject } from './storable-object'

const MAX_ACCEPTS = 16
const MAX_METADATA_BYTES = 4_096
const MAX_METADATA_DEPTH = 8

/** fetch rejects URLs with a user or a password. */
const canBeFetched = (text: string) => {
  if (text.startsWith('/')) return true
  if (!URL.canParse(text)) return false
  const { username, password } = new URL(text)
  return username === '' && password === ''
}

/** A URL or a path. Excludes what a browser would execute or resolve to another host if used as a link. */
export const ResourceUrl = z
  .string()
  .min(1)
  .max(2_048)
  .regex(
    /^(https?:\/\/[^\s/?#]|\/(?![/\\]))[\x21-\x7e]*$/,
    'must be an http(s) URL, or a path that begins with one slash',
  )
  .refine(canBeFetched, 'must be a URL that can be fetched, without user and password')

export const AcceptedPayment = z
  .object({
    scheme: z.literal('exact').describe('The payment scheme.'),
    network: z
      .string()
      .min(1)
      .max(128)
      .describe('A network of `GET /networks`: its name, chain id or CAIP-2 id.'),
    maxAmountRequired: Amount.refine((amount) => amount !== '0', 'must not be zero').meta({
      not: { const: '0' },
      description: 'The price, in the asset’s smallest unit.',
    }),
    asset: z.string().min(1).max(256).describe('An asset of `GET /assets`.'),
    payTo: z.string().min(1).max(256).describe('The recipient’s address.'),
  })
  .meta({ id: 'AcceptedPayment', description: 'A payment option of a resource.' })
export type AcceptedPayment = z.infer<typeof AcceptedPayment>

const Metadata = storableObject(MAX_METADATA_BYTES, MAX_METADATA_DEPTH).meta({
  description: `Any further facts about it, such as a \`description\`; at most ${MAX_METADATA_BYTES} bytes and ${MAX_METADATA_DEPTH} levels as JSON, without control characters and without numbers that have an exponent.`,
})

const exampleResource = {
  resource: 'https://shop.example/weather',
  type: 'http',
  x402Version: 1,
  accepts: [
    {
      scheme: 'exact',
      network: 'base-sepolia',
      maxAmountRequired: '10000',
      asset: exampleAsset,
      payTo: exampleAddress,
    },
  ],
  metadata: { description: 'The weather, now', mimeType: 'application/json' },
}

const resourceFields = {
  resource: ResourceUrl.describe('The protected resource: a URL or a path.'),
  type: z
    .string()
    .regex(/^[a-z][a-z0-9_-]{0,31}$/, 'must be a short word in small letters')
    .describe('A short word, usually `http` or `endpoint`.'),
  x402Version: z
    .union([z.literal(1), z.literal(2)], 'must be 1 or 2')
    .describe('The x402 version that its server speaks.'),
  accepts: z.array(AcceptedPayment).min(1).max(MAX_ACCEPTS).describe('The payment options.'),
}

export const ResourceRegistration = z
  .object({ ...resourceFields, metadata: Metadata.default({}) })
  .meta({ id: 'ResourceRegistration', examples: [exampleResource] })
export type ResourceRegistration = z.infer<typeof ResourceRegistration>

const exampleOwner = '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3'

const exampleRecord = {
  id: 7,
  ...exampleResource,
  createdAt: exampleTime,
  updatedAt: exampleTime,
  owner: exampleOwner,
  verified: true,
  verifiedAt: exampleTime,
  ownership: 'verified' as const,
}

export const RegisteredResource = z
  .object({
    id: z.int().describe('Its number, for `PUT /resources/{id}`.'),
    ...resourceFields,
    metadata: z.record(z.string(), z.unknown()),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    owner: z
      .uuid()
      .describe(
        'Who registered it: the public name of a user, the same on all resources of that user. A document at `/.well-known/x402` names it among its `registrants`.',
      ),
    verified: z
      .boolean()
      .describe(
        'Whether the resource’s origin named its owner when it last answered, within the last 7 days.',
      ),
    verifiedAt: z.iso
      .datetime()
      .nullable()
      .describe('The time of the last verification; null if not verified.'),
    ownership: z
      .enum(['unchecked', 'verified', 'not_listed', 'unreachable'])
      .describe(
        'What the last check of `/.well-known/x402` at the resource’s origin found: the owner among its `registrants`, not among them, or no answer. A path without an origin stays `unchecked`.',
      ),
  })
  .meta({ id: 'RegisteredResource', examples: [exampleRecord] })
export type RegisteredResource = z.infer<typeof RegisteredResource>

export const ResourceCreated = z
  .object({ data: z.object({ status: z.literal('created'), id: z.int() }) })
  .meta({ examples: [{ data: { status: 'created', id: 7 } }] })
export const ResourceUpdated = z
  .object({ data: z.object({ updated: z.int().describe('Its number.') }) })
  .meta({ examples: [{ data: { updated: 7 } }] })
export const ResourcesQuery = z.object(page(100, 200))
export const ResourcePage = z
  .object({
    data: z.object({ resources: z.array(RegisteredResource), offset: z.int(), limit: z.int() }),
  })
  .meta({ examples: [{ data: { resources: [exampleRecord], offset: 0, limit: 100 } }] })
export type ResourcePage = z.infer<typeof ResourcePage>
