import { z } from 'zod'
import { PlanId } from './fields'

const label = z
  .string()
  .regex(
    /^(?!\s)[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,64}(?<!\s)$/u,
    'expected 1 to 64 visible characters on one line, without spaces at the ends',
  )
const list = <Item extends z.ZodType>(item: Item) => z.array(item).max(100)
const cap = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

/** An origin as browsers send it (RFC 6454, 6.2). */
const Origin = z
  .string()
  .max(256)
  .regex(
    /^https?:\/\/[a-z0-9.[\]:-]+$/,
    'expected an origin such as https://app.example, in small letters and without a path',
  )

const limits = {
  chains: list(z.string().min(1).max(128)).describe(
    'The chains that may be called, each by CAIP-2 id, chain id or name. Empty allows all.',
  ),
  methods: list(z.string().regex(/^[\x21-\x7e]{1,128}$/, 'expected the name of a method')).describe(
    'The RPC methods that may be called, and no REST call then. Empty allows all.',
  ),
  origins: list(Origin).describe(
    'The origins of the web pages that may call; a client that sends no `Origin` may not call then. Empty allows all.',
  ),
}

export const NewAccessKey = z
  .object({
    label: label.describe('A name for it. The call history, which is public, shows it.'),
    expires_at: z.iso
      .datetime({ offset: true })
      .optional()
      .describe('From then on it is refused. Omit for a key without an end.'),
    max_credits: cap.optional().describe('The credits that it may spend in all.'),
    max_credits_per_day: cap.optional().describe('The credits that it may spend on one day, in UTC.'),
    chains: limits.chains.default([]),
    methods: limits.methods.default([]),
    origins: limits.origins.default([]),
  })
  .meta({
    id: 'NewAccessKey',
    examples: [
      { label: 'wallet app' },
      {
        label: 'block explorer',
        expires_at: '2027-01-15T12:00:00.000Z',
        max_credits: 100_000,
        max_credits_per_day: 5_000,
        chains: ['eip155:84532'],
        methods: ['eth_blockNumber', 'eth_getLogs'],
        origins: ['https://explorer.example'],
      },
    ],
  })
export type NewAccessKey = z.infer<typeof NewAccessKey>

const exampleKey = {
  id: '5b7d9a52-6f0e-4c55-9a55-0d6c7f1c2b3a',
  label: 'wallet app',
  pricing_plan_id: 1,
  max_credits: null,
  max_credits_per_day: 5000,
  chains: ['eip155:84532'],
  methods: [],
  origins: [],
  spent_credits: 12,
  spent_credits_today: 12,
  created_at: '2026-01-15T12:00:00.000Z',
  expires_at: null,
}

export const AccessKey = z
  .object({
    id: z.uuid(),
    label: z.string(),
    pricing_plan_id: PlanId.describe('The plan whose credits it spends.'),
    max_credits: z.int().nullable(),
    max_credits_per_day: z.int().nullable(),
    ...limits,
    spent_credits: z.int().describe('Refunded calls do not count.'),
    spent_credits_today: z.int().describe('Of the current day, in UTC.'),
    created_at: z.iso.datetime(),
    expires_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'AccessKey', description: 'An access key, without its secret.', examples: [exampleKey] })
export type AccessKey = z.infer<typeof AccessKey>

export const CreatedAccessKey = AccessKey.extend({
  key: z.string().describe('The secret. It is shown once and cannot be read again.'),
  url: z.string().describe('The URL that a client calls; `{chain}` is a chain of `GET /providers`.'),
}).meta({
  id: 'CreatedAccessKey',
  description: 'A new access key, with its secret.',
  examples: [
    {
      ...exampleKey,
      key: 'tgk_EXAMPLEexampleEXAMPLEexampleEXAMPLEexample0',
      url: 'https://gateway.example/v1/{chain}/tgk_EXAMPLEexampleEXAMPLEexampleEXAMPLEexample0',
    },
  ],
})
export type CreatedAccessKey = z.infer<typeof CreatedAccessKey>

export const AccessKeyPath = z.object({
  id: z
    .guid()
    .toLowerCase()
    .meta({ description: 'The id of the access key.', examples: [exampleKey.id] }),
})
