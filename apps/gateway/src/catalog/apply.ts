import { type GatewayDatabase } from '@tollgate/database'
import { families } from '@tollgate/chains'
import { Amount, Ecosystem } from '@tollgate/protocol'
import { parse as parseYaml } from 'yaml'
import { z } from 'zod'

const name = z.string().min(1).max(128)
const BaseUrl = z.url({ protocol: /^https?$/ }).max(2048)
const PlanId = z.int().min(1).max(2_147_483_647)

const CatalogPlan = z
  .strictObject({
    id: PlanId,
    plan_name: name,
    network: name,
    chain_id: name,
    ecosystem: Ecosystem,
    asset_address: name,
    /** Of the token's EIP-712 domain. */
    asset_name: name.optional(),
    asset_version: name.optional(),
    amount: Amount.refine((amount) => amount !== '0', 'must be above zero'),
    decimals: z.int().min(0).max(36),
    display_denom: name,
    credits: z.int().min(1).max(1_000_000_000),
    pay_to: name,
    max_timeout_seconds: z.int().min(10).max(3600).default(60),
    active: z.boolean().default(true),
  })
  .superRefine((plan, context) => {
    for (const field of ['asset_address', 'pay_to'] as const)
      if (plan.ecosystem === 'evm' && families.evm?.parseAddress(plan[field]) === undefined)
        context.addIssue({ code: 'custom', path: [field], message: 'must be an address' })
  })

const CatalogProvider = z.strictObject({
  provider_id: name,
  category: Ecosystem,
  chain_id: name,
  rpc: z.array(BaseUrl).default([]),
  rest: z.array(BaseUrl).default([]),
  description: z.string().max(1024).default(''),
  methods: z.record(z.string(), z.int().min(1).max(1_000_000)).default({}),
  active: z.boolean().default(true),
})

const isUnique = (keys: unknown[]) => new Set(keys.map((key) => JSON.stringify(key))).size === keys.length

/** The catalog file: what is sold and where calls go. */
export const CatalogFile = z.strictObject({
  plans: z
    .array(CatalogPlan)
    .refine((plans) => isUnique(plans.map(({ id }) => id)), 'has two plans of the same id'),
  providers: z
    .array(CatalogProvider)
    .refine(
      (all) => isUnique(all.map(({ provider_id, category, chain_id }) => [provider_id, category, chain_id])),
      'has the same provider twice for one chain',
    ),
})
export type CatalogFile = z.infer<typeof CatalogFile>

/** @throws Error that says what in the file is wrong, and where */
export function readCatalog(text: string): CatalogFile {
  const result = CatalogFile.safeParse(parseYaml(text))
  if (result.success) return result.data
  const problems = result.error.issues.map(
    (issue) => `  ${issue.path.join('.') || 'the file'}: ${issue.message}`,
  )
  throw new Error(`The catalog is not valid:\n${problems.join('\n')}`)
}

/**
 * Makes the database's plans and providers those of the file, in one transaction; doing so twice changes nothing. What
 * the file leaves out is retired, never deleted.
 */
export async function applyCatalog({ prisma }: GatewayDatabase, file: CatalogFile): Promise<void> {
  const plans = file.plans.map(planRow)
  const providers = file.providers.map(providerRow)
  await prisma.$transaction([
    ...plans.map(({ id, ...data }) =>
      prisma.plan.upsert({ where: { id }, create: { id, ...data }, update: data }),
    ),
    ...providers.map((data) => {
      const { key, category, chainId } = data
      const where = { key_category_chainId: { key, category, chainId } }
      return prisma.provider.upsert({ where, create: data, update: data })
    }),
    prisma.plan.updateMany({ where: { id: { notIn: plans.map(({ id }) => id) } }, data: { active: false } }),
    prisma.provider.updateMany({
      where: { NOT: providers.map(({ key, category, chainId }) => ({ key, category, chainId })) },
      data: { active: false },
    }),
  ])
}

const planRow = (plan: CatalogFile['plans'][number]) => ({
  id: plan.id,
  name: plan.plan_name,
  network: plan.network,
  chainId: plan.chain_id,
  ecosystem: plan.ecosystem,
  asset: families[plan.ecosystem]?.parseAddress(plan.asset_address) ?? plan.asset_address,
  assetName: plan.asset_name ?? null,
  assetVersion: plan.asset_version ?? null,
  amount: plan.amount,
  decimals: plan.decimals,
  displayDenom: plan.display_denom,
  credits: plan.credits,
  payTo: families[plan.ecosystem]?.parseAddress(plan.pay_to) ?? plan.pay_to,
  maxTimeoutSeconds: plan.max_timeout_seconds,
  active: plan.active,
})

const providerRow = (provider: CatalogFile['providers'][number]) => ({
  key: provider.provider_id,
  category: provider.category,
  chainId: provider.chain_id,
  rpc: provider.rpc,
  rest: provider.rest,
  description: provider.description,
  methods: provider.methods,
  active: provider.active,
})
