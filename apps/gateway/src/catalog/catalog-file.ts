import { Amount, Ecosystem, TransferMethod } from '@tollgate/protocol'
import { isPlainHttpToPublicHost, PLAIN_HTTP_REFUSED } from '@tollgate/service'
import { z } from 'zod'
import { problemsOfPlan } from './plan'
import { UpstreamHeaders } from './secrets/upstream-headers'
import { UpstreamUrl, withPlaceholders } from './secrets/upstream-url'
import { parseYaml } from './yaml-diagnostics'

/** One line, without spaces at its ends: names are displayed, and compared with requests. */
const name = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .regex(/^(?!\s)[^\p{Cc}\p{Cs}]*(?<!\s)$/u, 'must be text on one line, without spaces at its ends')

const chainName = name(64)

const PlanId = z.int().min(1).max(2_147_483_647)

/** Runs even if another check failed, so that all errors are reported at once. */
const ALWAYS = { when: () => true }

const CatalogPlan = z
  .strictObject({
    id: PlanId,
    plan_name: name(128),
    network: chainName,
    chain_id: chainName,
    ecosystem: Ecosystem,
    asset_address: name(128),
    asset_name: name(128).optional(),
    asset_version: name(128).optional(),
    amount: Amount.refine((amount) => amount !== '0', 'must be above zero'),
    decimals: z.int().min(0).max(36),
    display_denom: name(128),
    credits: z.int().min(1).max(1_000_000_000),
    pay_to: name(128),
    max_timeout_seconds: z.int().min(10).max(3600).default(60),
    transfer_methods: z.array(TransferMethod).default([]),
    active: z.boolean().default(true),
  })
  .superRefine((plan: unknown, context) => {
    const members = membersOf(plan)
    const { data: chain_id } = chainName.safeParse(members['chain_id'])
    for (const [field, message] of problemsOfPlan({ ...members, chain_id }))
      context.addIssue({ code: 'custom', path: [field], message })
  }, ALWAYS)

const MethodName = z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be a method’s name')

/** z.record would silently drop `__proto__`. */
const assertMethodNames = (methods: unknown, context: z.RefinementCtx) => {
  if (Object.hasOwn(membersOf(methods), '__proto__'))
    context.addIssue({ code: 'custom', path: ['__proto__'], message: 'must be a method’s name' })
  return methods
}

const CatalogProvider = z.strictObject({
  provider_id: name(128),
  category: Ecosystem,
  chain_id: chainName,
  network: chainName.optional(),
  rpc: z.array(UpstreamUrl).default([]),
  rest: z.array(UpstreamUrl).default([]),
  headers: UpstreamHeaders.default({}),
  description: z
    .string()
    .max(1024)
    .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must be text on one line')
    .default(''),
  methods: z.preprocess(assertMethodNames, z.record(MethodName, z.int().min(1).max(1_000_000))).default({}),
  not_served: z.array(MethodName).default([]),
  active: z.boolean().default(true),
})

const unique = (what: string, fields: readonly [string, ...string[]]) =>
  ((entries: unknown, context: z.RefinementCtx) => {
    const seen = new Map<string, number>()
    for (const [index, entry] of (Array.isArray(entries) ? (entries as unknown[]) : []).entries()) {
      const members = membersOf(entry)
      if (fields.some((field) => members[field] === undefined)) continue
      const key = JSON.stringify(fields.map((field) => members[field]))
      const earlier = seen.get(key)
      const message = `is the same ${what} as ${what}s.${earlier}`
      if (earlier !== undefined) context.addIssue({ code: 'custom', path: [index, fields[0]], message })
      else seen.set(key, index)
    }
  }) satisfies Parameters<z.ZodArray['superRefine']>[0]

const membersOf = (value: unknown) =>
  (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>

export const CatalogFile = z.strictObject({
  plans: z.array(CatalogPlan).superRefine(unique('plan', ['id']), ALWAYS),
  providers: z
    .array(CatalogProvider)
    .superRefine(unique('provider', ['provider_id', 'category', 'chain_id']), ALWAYS),
})
export type CatalogFile = z.infer<typeof CatalogFile>

const ProductionCatalogFile = CatalogFile.superRefine(({ providers }, context) => {
  for (const [index, provider] of providers.entries())
    for (const transport of ['rpc', 'rest'] as const)
      for (const [place, url] of provider[transport].entries())
        if (isPlainHttpToPublicHost(withPlaceholders(url)))
          context.addIssue({
            code: 'custom',
            path: ['providers', index, transport, place],
            message: `is ${PLAIN_HTTP_REFUSED}`,
          })
})

/** `isProduction`: refuses nodes by `http://` on public hosts. */
export const parseCatalog = (text: string, { isProduction = false } = {}): CatalogFile =>
  parseYaml(isProduction ? ProductionCatalogFile : CatalogFile, text)
