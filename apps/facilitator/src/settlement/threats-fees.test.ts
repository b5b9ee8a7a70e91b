import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { createAccountStore } from '../operations/accounts/operator-account-store'
import { newPayer } from '../testing/chain'
import { newClient, newUser, testFacilitator, type ClientHeaders } from '../testing/facilitator'
import { withManualMining } from '../testing/manual-mining'
import { inVersion2, paymentRequest, type PaymentRequest } from '../testing/payment'
import { withTwoSigners } from '../testing/two-signers'

afterAll(closeAll)

const REFUSED = { success: false, errorReason: 'fee_allowance_exceeded', transaction: '', payer: '' }
/** Of a daily fee limit of one ETH a user has 0.001: a few settlements on a development chain. */
const DAILY_LIMIT = 10n ** 18n
const LIMIT = DAILY_LIMIT / 1_000n
const SHARES = { NEW_USER_FEE_SHARE_PERCENT: '0.1' }
const FEES_LOCK = 'fees base-sepolia'

type World = Awaited<ReturnType<typeof withManualMining>>

const clientOf = (headers: ClientHeaders) => headers['X-Client-ID']

/** The most that a client key's payments on their way may cost. */
async function reserved({ pool }: Pick<World, 'pool'>, headers: ClientHeaders): Promise<bigint> {
  const { rows } = await pool.query<{ part: string }>(
    'SELECT coalesce(sum(part), 0) AS part FROM fee_shares WHERE client_id = $1',
    [clientOf(headers)],
  )
  return BigInt(rows[0]!.part)
}

/** Nothing that is claimed is signed until `what` has come to its end. */
async function beforeAnyFee({ pool }: Pick<World, 'pool'>, what: () => Promise<unknown>): Promise<void> {
  const session = await pool.connect()
  try {
    await session.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [FEES_LOCK])
    await what()
  } finally {
    session.release(true)
  }
}

const payments = async (rpcUrl: string, count: number) => {
  const bodies: PaymentRequest[] = []
  for (let n = 0; n < count; n++) bodies.push(await paymentRequest(await newPayer(rpcUrl)))
  return bodies
}

/** Why the payment is refused, or `sent` once a transaction is signed for it. */
async function decided({ settle }: Pick<World, 'settle'>, body: PaymentRequest, headers?: ClientHeaders) {
  for (;;) {
    const { errorReason, transaction } = await settle(body, headers)
    if (errorReason !== 'settlement_pending') return errorReason
    if (transaction !== '') return 'sent'
  }
}

const mined = (results: readonly SettleResult[]) => results.filter(({ success }) => success).length

test.concurrent('of two users in one batch, one exceeds its share and is refused in part, and the other is settled in full without delay', async () => {
  const on = await withManualMining({ maxFeesPerDay: DAILY_LIMIT, variables: SHARES })
  const [greedy, modest] = [on.client, await newClient(on.facilitator.api)]
  const [many, few] = [await payments(on.rpcUrl, 30), await payments(on.rpcUrl, 2)]
  let settling: Promise<SettleResult>[] = []
  await beforeAnyFee(on, async () => {
    settling = [
      ...many.slice(0, 15).map((body) => on.settle(body, greedy)),
      ...few.map((body) => on.settle(body, modest)),
      ...many.slice(15).map((body) => on.settle(body, greedy)),
    ]
    await on.until('settlements', 32)
  })
  await on.until("settlements WHERE status = 'claimed'", 0)

  const own = await reserved(on, greedy)
  expect([own > 0n, own <= LIMIT]).toEqual([true, true])
  const theirs = `settlements WHERE client_id = '${clientOf(modest)}' AND status = 'signed'`
  expect(await on.count(theirs)).toBe(2)
  // The first that was claimed went by itself; of the rest, what has room went together.
  expect(await on.count('transactions')).toBeLessThanOrEqual(3)

  await on.mineUntil("settlements WHERE status = 'signed'", 0)
  const results = await Promise.all(settling)
  expect(mined(results.slice(15, 17))).toBe(2)
  const refused = results.filter(({ success }) => !success)
  expect(refused.length).toBeGreaterThan(0)
  for (const one of refused) expect(one).toMatchObject(REFUSED)
  expect(mined(results) + refused.length).toBe(32)
})

test.concurrent('fifty concurrent payments on two replicas and two signers never reserve more than the share', async () => {
  const { rpcUrl, pool, client, ...one } = await withTwoSigners({
    maxFeesPerDay: DAILY_LIMIT,
    variables: { ...SHARES, SETTLE_TIMEOUT_SECONDS: '20' },
  })
  const other = await testFacilitator(one.facilitator.settings)
  const bodies = await payments(rpcUrl, 50)
  const settled = await Promise.all(
    bodies.map(async (body, n) => {
      const { api } = n % 2 === 0 ? one : other
      return (await api.post('/api/v1/settle').set(client).send(body).expect(200)).body as SettleResult
    }),
  )
  const own = await reserved({ pool }, client)
  expect([own > LIMIT / 2n, own <= LIMIT]).toEqual([true, true])
  const reasons = new Set(settled.map(({ errorReason }) => errorReason))
  expect(reasons).toEqual(new Set(['settlement_pending', 'fee_allowance_exceeded']))
  const { rows } = await pool.query<{ cost: string }>('SELECT sum(max_fee) AS cost FROM transactions')
  expect(BigInt(rows[0]!.cost)).toBeLessThanOrEqual(LIMIT)
})

test.concurrent('verify and settle refuse the same payments, and accept them once an operator raises the share', async () => {
  const on = await withManualMining({
    maxFeesPerDay: DAILY_LIMIT,
    // The first settlement has room, the second has none.
    variables: { NEW_USER_FEE_SHARE_PERCENT: '0.05', SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const [first, second, third] = (await payments(on.rpcUrl, 3)) as [
    PaymentRequest,
    PaymentRequest,
    PaymentRequest,
  ]
  expect(await on.verify(second)).toMatchObject({ isValid: true })
  expect(await decided(on, first)).toBe('sent')
  expect(await decided(on, second)).toBe('fee_allowance_exceeded')
  // What was claimed before is still asked about.
  expect(await decided(on, first)).toBe('sent')
  // The share is read again within a second.
  await delay(1_000)
  for (const body of [second, third])
    expect(await on.verify(body)).toMatchObject({
      isValid: false,
      invalidReason: 'fee_allowance_exceeded',
      payer: '',
    })
  const claimed = await on.count('settlements')
  expect(await decided(on, third)).toBe('fee_allowance_exceeded')
  expect(await on.count('settlements')).toBe(claimed)
  const stranger = await newClient(on.facilitator.api)
  expect(await on.verify(third, stranger)).toMatchObject({ isValid: true })

  const { rows } = await on.pool.query<{ email: string }>(
    'SELECT email FROM users u JOIN clients c ON c.user_id = u.id WHERE client_id = $1',
    [clientOf(on.client)],
  )
  await createAccountStore(on.pool).allow({ email: rows[0]!.email }, 5_000)
  expect(await on.verify(third)).toMatchObject({ isValid: true })
  expect(await decided(on, third)).toBe('sent')
  await on.mineUntil("settlements WHERE status = 'settled'", 2)
})

test.concurrent('all new users together leave the rest of the fees to users with a share of their own', async () => {
  const on = await withManualMining({
    maxFeesPerDay: DAILY_LIMIT,
    variables: { ALL_NEW_USERS_FEE_SHARE_PERCENT: '0.05', SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const strangers = [on.client, await newClient(on.facilitator.api)] as const
  const known = await newClient(on.facilitator.api)
  await on.pool.query(
    'UPDATE users SET fee_share_bps = 5000 WHERE id = (SELECT user_id FROM clients WHERE client_id = $1)',
    [clientOf(known)],
  )
  const [first, second, third] = (await payments(on.rpcUrl, 3)) as [
    PaymentRequest,
    PaymentRequest,
    PaymentRequest,
  ]
  expect(await decided(on, first, strangers[0])).toBe('sent')
  expect(await decided(on, second, strangers[1])).toBe('fee_allowance_exceeded')
  expect(await decided(on, third, known)).toBe('sent')
})

test.concurrent('a client key that used up its share does not limit the other keys of its user', async () => {
  const on = await withManualMining({
    maxFeesPerDay: DAILY_LIMIT,
    variables: { CLIENT_KEY_FEE_SHARE_PERCENT: '0.05', SETTLE_TIMEOUT_SECONDS: '1' },
  })
  const { api } = on.facilitator
  const { accessToken } = await newUser(api)
  const newKey = async (): Promise<ClientHeaders> => {
    const authorization = { Authorization: `Bearer ${accessToken}` }
    const made = await api.post('/api/v1/clients').set(authorization).send({ title: 'Shop' }).expect(200)
    const { client } = (made.body as { data: { client: { clientId: string; token: string } } }).data
    return { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
  }
  const keys = [await newKey(), await newKey()] as const
  const [first, second, third, fourth] = (await payments(on.rpcUrl, 4)) as [
    PaymentRequest,
    PaymentRequest,
    PaymentRequest,
    PaymentRequest,
  ]
  expect(await decided(on, first, keys[0])).toBe('sent')
  expect(await decided(on, second, keys[0])).toBe('fee_allowance_exceeded')
  expect(await decided(on, third, keys[1])).toBe('sent')

  await createAccountStore(on.pool).allowClient(clientOf(keys[0]), 5_000)
  expect(await decided(on, fourth, keys[0])).toBe('sent')
})

test.concurrent('an amount below the minimum of its asset is refused in both versions, and the minimum is settled', async () => {
  const on = await withManualMining({ variables: { ADMIN_TOKEN: 'a'.repeat(32) } })
  const { api } = on.facilitator
  const of = async (amount: string) =>
    paymentRequest(await newPayer(on.rpcUrl), { requirements: { maxAmountRequired: amount } })
  const least = async (minAmount: string | undefined) => {
    const asset = {
      network: 'base-sepolia',
      asset: (await of('1')).paymentRequirements.asset,
      symbol: 'USDC',
      decimals: 6,
    }
    const body = { ...asset, ...(minAmount === undefined ? {} : { min_amount: minAmount }) }
    const answer = await api
      .post('/admin/assets')
      .set('Authorization', `Bearer ${'a'.repeat(32)}`)
      .send(body)
      .expect(200)
    return (answer.body as { data: { minAmount?: string } }).data.minAmount
  }
  const dust = await of('999')
  expect(await on.verify(dust)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_payment_requirements',
  })
  expect(await on.settle(dust)).toMatchObject({
    success: false,
    errorReason: 'invalid_payment_requirements',
  })
  const second = await api.post('/api/v2/verify').set(on.client).send(inVersion2(dust)).expect(200)
  expect(second.body).toMatchObject({ isValid: false, invalidReason: 'invalid_payment_requirements' })
  expect(await on.count('settlements')).toBe(0)

  const enough = await of('1000')
  expect(await on.verify(enough)).toMatchObject({ isValid: true })
  const settling = on.settle(enough)
  await on.onTheirWay(1)
  expect([await least(undefined), await least('2500'), await least(undefined)]).toEqual([
    undefined,
    '2500',
    '2500',
  ])
  expect(await on.verify(await of('2499'))).toMatchObject({ isValid: false })
  // It was claimed before, so its outcome is still reported.
  await on.mineUntil("settlements WHERE status = 'settled'", 1)
  expect(await settling).toMatchObject({ success: true })
  expect(await on.settle(enough)).toMatchObject({ errorReason: 'duplicate_settlement' })
})

test.concurrent('a key with a list of recipients verifies and settles payments to these only', async () => {
  const on = await withManualMining({ variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
  const [body] = (await payments(on.rpcUrl, 1)) as [PaymentRequest]
  const { payTo } = body.paymentRequirements
  const stranger = await newClient(on.facilitator.api, {
    pay_to: [(await newPayer(on.rpcUrl)).address, 'cosmos1x'],
  })
  expect(await on.verify(body, stranger)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_payment_requirements',
  })
  expect(await on.settle(body, stranger)).toMatchObject({
    success: false,
    errorReason: 'invalid_payment_requirements',
  })
  expect(await on.count('settlements')).toBe(0)

  const own = await newClient(on.facilitator.api, { pay_to: [payTo.toLowerCase()] })
  expect(await on.verify(body, own)).toMatchObject({ isValid: true })
  expect(await decided(on, body, own)).toBe('sent')
})

test.concurrent('a key with a list of recipients can ask for a payment that another key of its user claimed', async () => {
  const on = await withManualMining({ variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
  const [body] = (await payments(on.rpcUrl, 1)) as [PaymentRequest]
  const key = { 'Idempotency-Key': 'order-1' }
  expect(await on.settle(body, { ...on.client, ...key })).toMatchObject({
    errorReason: 'settlement_pending',
  })
  const { rows } = await on.pool.query<{ id: string }>(
    `INSERT INTO clients (client_id, user_id, token_hash, title, scope, pay_to)
     SELECT 'client_000000000000000000000002', user_id, token_hash, title, scope, $1 FROM clients
     RETURNING client_id AS id`,
    [[(await newPayer(on.rpcUrl)).address]],
  )
  const listed = { ...on.client, 'X-Client-ID': rows[0]!.id, ...key }
  expect(await on.settle(body, listed)).toMatchObject({ errorReason: 'settlement_pending' })
  await on.mineUntil("settlements WHERE status = 'settled'", 1)
  expect(await on.settle(body, listed)).toMatchObject({ success: true })
})
