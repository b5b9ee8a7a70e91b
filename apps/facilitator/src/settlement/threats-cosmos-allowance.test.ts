import { closeAll } from '@tollgate/testing'
import { createAccountStore } from '../operations/accounts/operator-account-store'
import { newClient, type ClientHeaders } from '../testing/facilitator'
import { onGaslessChain } from '../testing/gasless'
import { COSMOS_AMOUNT, type CosmosRequest } from '../testing/cosmos'

afterAll(closeAll)

test('a fee grant above a nonce that a reorg freed is mined, and its payment settles once', async () => {
  const on = await onGaslessChain({ variables: { SETTLE_TIMEOUT_SECONDS: '20' } })
  const taken = await on.pool.query<{ id: bigint }>(
    `INSERT INTO transactions (network, signer, nonce, raw, hash, status, block_number, block_hash, fee)
     VALUES ($1, $2, 0, 'raw', 'dropped', 'final', 1, '', 0)
     RETURNING id`,
    [on.network, on.granter.address],
  )
  const body = await on.gasless(await on.newPayer())
  const answer = on.settle(body)
  await on.until("transactions WHERE nonce = 1 AND is_fee_grant AND status = 'signed'", 1)
  await on.pool.query("UPDATE transactions SET status = 'superseded' WHERE id = $1", [taken.rows[0]?.id])
  expect(await answer).toMatchObject({ success: true })
  expect([await on.balance(body.paymentRequirements.payTo), await on.grants()]).toEqual([COSMOS_AMOUNT, 2])
  expect(await on.count('fee_allocations')).toBe(2)
})

/** In uatom: of a payment a grant and its fee may come to some 7,500 to 12,500. */
const LIMIT = 30_000n
const variables = { NEW_USER_FEE_SHARE_PERCENT: '0.01', SETTLE_TIMEOUT_SECONDS: '20' }

async function world() {
  // A hundredth of a percent is the least share there is; the daily fee limit is chosen by it.
  const on = await onGaslessChain({ maxFeesPerDay: LIMIT * 10_000n, variables })
  const post = async <T>(path: string, body: CosmosRequest, client: ClientHeaders) =>
    (await on.facilitator.api.post(`/api/v1/${path}`).set(client).send(body).expect(200)).body as T
  type Settled = { success: boolean; errorReason: string; transaction: string }
  return {
    ...on,
    gaslessOfNew: async () => on.gasless(await on.newPayer()),
    /** Repeats the request until the response is not pending. */
    async settleAs(body: CosmosRequest, client: ClientHeaders): Promise<Settled> {
      for (;;) {
        const settled = await post<Settled>('settle', body, client)
        if (settled.errorReason !== 'settlement_pending') return settled
      }
    },
    verifyAs: (body: CosmosRequest, client: ClientHeaders) =>
      post<{ isValid: boolean; invalidReason: string }>('verify', body, client),
  }
}

test('a user whose gasless payments have come to its share is refused before anything is granted; others are not', async () => {
  const on = await world()
  const [greedy, modest] = [on.client, await newClient(on.facilitator.api)]
  const before = await on.balance(on.granter.address)
  const bodies: CosmosRequest[] = []
  for (let n = 0; n < 8; n++) bodies.push(await on.gaslessOfNew())
  const own = await on.gaslessOfNew()
  let settling: Promise<{ success: boolean; errorReason: string; transaction: string }>[] = []
  await on.beforeAnyFee(async () => {
    settling = [
      ...bodies.slice(0, 4).map((body) => on.settleAs(body, greedy)),
      on.settleAs(own, modest),
      ...bodies.slice(4).map((body) => on.settleAs(body, greedy)),
    ]
    await on.until('settlements', 9)
  })
  const results = await Promise.all(settling)
  expect(results[4]).toMatchObject({ success: true })
  const refused = results.filter(({ success }) => !success)
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.length).toBeLessThan(8)
  for (const one of refused)
    expect(one).toMatchObject({ errorReason: 'fee_allowance_exceeded', transaction: '' })
  const { rows } = await on.pool.query<{ part: string }>(
    'SELECT sum(part) AS part FROM fee_shares WHERE client_id = $1',
    [greedy['X-Client-ID']],
  )
  expect(BigInt(rows[0]!.part)).toBeLessThanOrEqual(LIMIT)
  expect(before - (await on.balance(on.granter.address))).toBeLessThanOrEqual(LIMIT + 12_500n)
})

test('one at its share still settles what costs us nothing, and is refused the rest until an operator raises it', async () => {
  const on = await world()
  while ((await on.settleAs(await on.gaslessOfNew(), on.client)).success);
  const gasless = await on.gaslessOfNew()
  while ((await on.verifyAs(gasless, on.client)).isValid);
  expect(await on.verifyAs(gasless, on.client)).toMatchObject({ invalidReason: 'fee_allowance_exceeded' })
  expect(await on.settleAs(gasless, on.client)).toMatchObject({ errorReason: 'fee_allowance_exceeded' })

  const payer = await on.newPayer(30_000n)
  const paysItself = await on.gasless(payer, { granter: undefined })
  expect(await on.verifyAs(paysItself, on.client)).toMatchObject({ isValid: true })
  expect(await on.settleAs(paysItself, on.client)).toMatchObject({ success: true })

  await createAccountStore(on.pool).allow({ id: await userIdOf(on) }, 5_000)
  expect(await on.settleAs(gasless, on.client)).toMatchObject({ success: true })
})

async function userIdOf({ pool, client }: Awaited<ReturnType<typeof world>>): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    'SELECT user_id AS id FROM clients WHERE client_id = $1',
    [client['X-Client-ID']],
  )
  return rows[0]!.id
}
