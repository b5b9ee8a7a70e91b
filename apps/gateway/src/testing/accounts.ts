import { type GatewayDatabase } from '@tollgate/database'
import { randomBytes, randomUUID } from 'node:crypto'
import { auditAccounts } from '../accounts/audit'
import { type Ledger } from '../accounts/ledger'
import { planOf } from './catalog'

type Pool = GatewayDatabase['pool']

const { network, chain_id, asset_address, amount, pay_to } = planOf()

const settleable = {
  paymentPayload: { x402Version: 1, scheme: 'exact', network, payload: {} },
  paymentRequirements: {
    scheme: 'exact',
    network,
    maxAmountRequired: amount,
    resource: '',
    description: '',
    mimeType: '',
    payTo: pay_to,
    maxTimeoutSeconds: 60,
    asset: asset_address,
  },
}

export const randomAddress = () => `0x${randomBytes(20).toString('hex')}`

export async function insertPayment(
  pool: Pool,
  payment: {
    wallet: string
    credits: number
    status?: string
    planId?: number
    request?: object
    nonce?: string
  },
): Promise<string> {
  const {
    wallet,
    credits,
    status = 'settled',
    planId = 1,
    request = settleable,
    nonce = randomUUID(),
  } = payment
  const id = randomUUID()
  await pool.query(
    `INSERT INTO payments (id, wallet, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, nonce, credits,
       request, status, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $2, $8, $9, $10, $11, $12, now())`,
    [id, wallet, planId, network, chain_id, asset_address, amount, pay_to, nonce, credits, request, status],
  )
  return id
}

export async function fund(
  parts: { pool: Pool; ledger: Ledger },
  wallet: string,
  credits: number,
  planId = 1,
) {
  const id = await insertPayment(parts.pool, { wallet, credits, planId })
  if (!(await parts.ledger.grant(id))) throw new Error('The payment could not be granted')
}

export async function openSession(pool: Pool, wallet: string, planId = 1): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `INSERT INTO sessions (id, wallet, auth_method, chain_id, ecosystem, pricing_plan_id)
     VALUES ($1, $2, 'siwe', '84532', 'evm', $3)`,
    [id, wallet, planId],
  )
  return id
}

export async function balanceOf(ledger: Ledger, wallet: string, planId = 1): Promise<bigint> {
  return (await ledger.getBalances(wallet)).find((account) => account.planId === planId)?.balance ?? 0n
}

export async function findViolations(pool: Pool): Promise<string[]> {
  const found: string[] = []
  for (let after: bigint | undefined = 0n; after !== undefined;) {
    const { violations, last } = await auditAccounts({ pool }, { after, limit: 10_000 })
    found.push(...violations.map(({ account, invariant }) => `${invariant} of account ${account}`))
    after = last
  }
  const ungranted = `SELECT FROM payments LEFT JOIN grants ON grants.payment_id = payments.id
    WHERE (payments.status = 'credited') <> (grants.id IS NOT NULL)`
  if ((await pool.query(ungranted)).rows.length > 0) found.push('a credited payment without its grant')
  return found
}
