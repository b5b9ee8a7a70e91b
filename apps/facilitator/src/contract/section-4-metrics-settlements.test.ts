import { openFacilitatorDatabase } from '@tollgate/database'
import { type SettlementMetrics } from '@tollgate/protocol'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { callRpc, newPayer, newSigner, ownChain, sharedChain } from '../testing/chain'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { metricsOf, until } from '../testing/metrics'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
afterAll(closeAll)

describe('4. GET /x402-metrics/daily, /x402-metrics/monthly, /x402-metrics/summary', () => {
  /** One time for all tests, so that none runs across midnight. */
  const moment = new Date()
  const today = moment.toISOString().slice(0, 10)
  async function facilitatorAtMoment(options: {
    rpcUrl: string
    signerKeys: string[]
    databaseUrl?: string
  }) {
    const facilitator = await testFacilitator({ ...options, now: () => moment })
    return { ...facilitator, ...metricsOf(facilitator) }
  }
  /** `settled_at` is the database's time, so the test overwrites it. */
  const settledThen = async ({ database }: TestFacilitator) =>
    database.pool.query(`UPDATE settlements SET settled_at = $1 WHERE status = 'settled'`, [moment])

  const settle = async ({ api }: Pick<TestFacilitator, 'api'>, headers: object, body: PaymentRequest) =>
    (
      await api
        .post('/api/v1/settle')
        .set({ ...headers })
        .send(body)
        .expect(200)
    ).body as {
      success: boolean
      transaction: string
      errorReason: string
    }

  async function feeOf(transaction: string): Promise<bigint> {
    const receipt = await callRpc(rpcUrl, 'eth_getTransactionReceipt', transaction)
    const { gasUsed, effectiveGasPrice } = receipt as { gasUsed: string; effectiveGasPrice: string }
    return BigInt(gasUsed) * BigInt(effectiveGasPrice)
  }

  test('settlement metrics (amounts, fees, networks), failures by reason; own for users, all for admins', async () => {
    const signerKeys = [(await newSigner(rpcUrl)).privateKey]
    const here = await facilitatorAtMoment({ rpcUrl, signerKeys })
    const [merchant, other, root] = [
      await here.newMerchant(),
      await here.newMerchant(),
      await newUser(here.api),
    ]
    await here.makeAdmin(root)
    const payer = await newPayer(rpcUrl)
    const bodies = [await paymentRequest(payer), await paymentRequest(payer), await paymentRequest(payer)]
    const results = []
    for (const body of bodies) results.push(await settle(here, merchant.headers, body))
    results.push(await settle(here, other.headers, await paymentRequest(payer)))
    expect(results.map(({ success }) => success)).toEqual([true, true, true, true])
    await settledThen(here)

    // Refused before the claim: by the chain, as a duplicate of an own and of another settlement, and by the request.
    const poor = await newPayer(rpcUrl, 0n)
    expect(await settle(here, merchant.headers, await paymentRequest(poor))).toMatchObject({
      errorReason: 'insufficient_funds',
    })
    for (const headers of [merchant.headers, merchant.headers, other.headers])
      expect(await settle(here, headers, bodies[0]!)).toMatchObject({ errorReason: 'duplicate_settlement' })
    const foreign = await paymentRequest(payer, { requirements: { network: 'nowhere' } })
    expect(await settle(here, merchant.headers, foreign)).toMatchObject({ errorReason: 'invalid_network' })

    const fees = await Promise.all(results.map(({ transaction }) => feeOf(transaction)))
    const sum = (of: bigint[]) => of.reduce((total, fee) => total + fee, 0n).toString()
    const asset = bodies[0]!.paymentRequirements.asset
    const usdc = { network: 'base-sepolia', asset, symbol: 'USDC', decimals: 6 }
    const own: SettlementMetrics = {
      settled: 3,
      failed: 2,
      reversed: 0,
      duplicates: 2,
      amounts: [{ ...usdc, settled: 3, amount: (3n * AMOUNT).toString() }],
      fees: [{ network: 'base-sepolia', transactions: 3, amount: sum(fees.slice(0, 3)) }],
      networks: [{ network: 'base-sepolia', settled: 3, failed: 1, reversed: 0 }],
      failures: [
        { reason: 'insufficient_funds', failed: 1 },
        { reason: 'invalid_network', failed: 1 },
      ],
    }
    const seen = await until(
      () => here.read<SettlementMetrics>(merchant.bearer, '/x402-metrics/summary'),
      ({ failed, duplicates }) => failed + duplicates === 4,
    )
    expect(seen).toEqual(own)
    const [days, months] = [
      await here.read(merchant.bearer, '/x402-metrics/daily'),
      await here.read(merchant.bearer, '/x402-metrics/monthly'),
    ]
    expect(days).toEqual([{ day: today, ...own }])
    expect(months).toEqual([{ month: today.slice(0, 7), ...own }])

    const all = await until(
      async () => here.read<SettlementMetrics>(await here.login(root), '/x402-metrics/summary'),
      ({ failed, duplicates }) => failed + duplicates === 5,
    )
    expect(all).toMatchObject({
      settled: 4,
      failed: 2,
      duplicates: 3,
      amounts: [{ ...usdc, settled: 4, amount: (4n * AMOUNT).toString() }],
      fees: [{ network: 'base-sepolia', transactions: 4, amount: sum(fees) }],
    })
    const others = await here.read<SettlementMetrics>(other.bearer, '/x402-metrics/summary')
    expect(others).toMatchObject({ settled: 1, failed: 0, duplicates: 1, failures: [] })
    // A deleted key keeps its settlements.
    await here.api.delete(`/api/v1/clients/${other.client}`).set(other.bearer).expect(200)
    expect(await here.read(other.bearer, '/x402-metrics/summary')).toEqual(others)
  })

  test('payments of two users, over two days, in one transaction: their fees add up to what it cost', async () => {
    const signer = await newSigner(rpcUrl)
    const databaseUrl = await migratedDatabase('facilitator')
    // Payments wait while another session owns the signer, then form one batch.
    const owner = openFacilitatorDatabase({ url: databaseUrl, poolSize: 1 })
    closeLater(() => owner.close())
    const signerLock = `settler eip155:84532 ${signer.address}`
    await owner.pool.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [signerLock])

    const here = await facilitatorAtMoment({ rpcUrl, signerKeys: [signer.privateKey], databaseUrl })
    const [merchant, other, root] = [
      await here.newMerchant(),
      await here.newMerchant(),
      await newUser(here.api),
    ]
    await here.makeAdmin(root)
    const { pool } = here.database
    const settling = await Promise.all(
      [merchant, merchant, other].map(async ({ headers }) => ({
        headers,
        body: await paymentRequest(await newPayer(rpcUrl)),
      })),
    )
    const answers = Promise.all(settling.map(({ headers, body }) => settle(here, headers, body)))
    await until(
      () => pool.query('SELECT FROM settlements'),
      ({ rowCount }) => rowCount === 3,
    )
    await owner.close()
    const results = await answers
    expect(results.map(({ success }) => success)).toEqual([true, true, true])
    const [transaction, ...more] = new Set(results.map((result) => result.transaction))
    expect(more).toEqual([])
    await settledThen(here)
    await pool.query(
      `UPDATE settlements SET settled_at = settled_at - INTERVAL '1 day'
       WHERE id = (SELECT min(id) FROM settlements WHERE client_id = $1)`,
      [merchant.client],
    )

    const fee = await feeOf(transaction!)
    const feesOf = async (headers: object, path = '/x402-metrics/daily') => {
      const found = await here.read<SettlementMetrics[]>(headers, path)
      return found.flatMap(({ fees }) => fees)
    }
    const [ofMerchant, ofOther, ofAll] = [
      await feesOf(merchant.bearer),
      await feesOf(other.bearer),
      await feesOf(await here.login(root)),
    ]
    const sum = (fees: SettlementMetrics['fees']) =>
      fees.reduce((total, { amount }) => total + BigInt(amount), 0n)
    expect([ofMerchant.length, ofOther.length, ofAll.length]).toEqual([2, 1, 2])
    expect(sum(ofMerchant) + sum(ofOther)).toBe(fee)
    expect(sum(ofAll)).toBe(fee)
    for (const { amount, transactions } of [...ofMerchant, ...ofOther]) {
      expect(transactions).toBe(1)
      expect(BigInt(amount) - fee / 3n).toBeLessThanOrEqual(1n)
    }
    const summary = await here.read<SettlementMetrics>(await here.login(root), '/x402-metrics/summary')
    expect(summary.fees).toEqual([{ network: 'base-sepolia', transactions: 1, amount: fee.toString() }])
  })

  test('days are of UTC and of the end; failed and reversed do not count as settled; amounts of 78 digits are exact', async () => {
    const here = await facilitatorAtMoment({ rpcUrl, signerKeys: [(await newSigner(rpcUrl)).privateKey] })
    const merchant = await here.newMerchant()
    const payer = await newPayer(rpcUrl)
    for (let i = 0; i < 5; i++)
      expect(await settle(here, merchant.headers, await paymentRequest(payer))).toMatchObject({
        success: true,
      })
    const { rows } = await here.database.pool.query<{ id: bigint }>('SELECT id FROM settlements ORDER BY id')
    const become = (index: number, changes: string) =>
      here.database.pool.query(`UPDATE settlements SET ${changes} WHERE id = $1`, [rows[index]!.id])
    const largest = '9'.repeat(78)
    await become(0, `settled_at = '2024-02-29T23:59:59.999Z', amount = ${largest}`)
    await become(1, `settled_at = '2024-02-29T00:00:00Z', amount = ${largest}`)
    await become(2, `settled_at = '2024-03-01T00:00:00Z', status = 'reversed'`)
    await become(
      3,
      `settled_at = NULL, success_reported_at = NULL, updated_at = '2024-03-01T00:00:00Z', status = 'failed',
        error_reason = 'payment_expired'`,
    )
    await become(4, `settled_at = '2024-02-28T23:59:59.999Z'`)

    const query = { from: '2024-02-29', to: '2024-03-01' }
    const days = await here.read<(SettlementMetrics & { day: string })[]>(
      merchant.bearer,
      '/x402-metrics/daily',
      query,
    )
    expect(days.map(({ day, settled, failed, reversed }) => [day, settled, failed, reversed])).toEqual([
      ['2024-02-29', 2, 0, 0],
      ['2024-03-01', 0, 1, 1],
    ])
    expect(
      await here.read(merchant.bearer, '/x402-metrics/summary', { from: '2024-02-29', to: '2024-02-29' }),
    ).toMatchObject({ settled: 2, failed: 0, reversed: 0 })
    const amount = (2n * BigInt(largest)).toString()
    expect(days[0]?.amounts).toMatchObject([{ settled: 2, amount }])
    expect(days[1]).toMatchObject({
      amounts: [],
      fees: [{ transactions: 2 }],
      networks: [{ network: 'base-sepolia', settled: 0, failed: 1, reversed: 1 }],
      failures: [{ reason: 'payment_expired', failed: 1 }],
    })
    const months = await here.read<(SettlementMetrics & { month: string })[]>(
      merchant.bearer,
      '/x402-metrics/monthly',
      query,
    )
    expect(months.map(({ month, settled }) => [month, settled])).toEqual([
      ['2024-02', 2],
      ['2024-03', 0],
    ])
    expect(await here.read(merchant.bearer, '/x402-metrics/summary')).toMatchObject({
      settled: 3,
      failed: 1,
      reversed: 1,
    })
  })

  test('a settlement that is pending is no failure, and counts once when it is settled', async () => {
    const chain = await ownChain({ blockTime: 3_600 })
    const signer = await newSigner(chain.rpcUrl)
    const here = await facilitatorAtMoment({ rpcUrl: chain.rpcUrl, signerKeys: [signer.privateKey] })
    const merchant = await here.newMerchant()
    const body = await paymentRequest(await newPayer(chain.rpcUrl), {
      requirements: { maxTimeoutSeconds: 1 },
    })
    expect(await settle(here, merchant.headers, body)).toMatchObject({ errorReason: 'settlement_pending' })
    const summary = () => here.read<SettlementMetrics>(merchant.bearer, '/x402-metrics/summary')
    // A later refusal is visible only after this one.
    const foreign = await paymentRequest(await newPayer(chain.rpcUrl), {
      requirements: { network: 'nowhere' },
    })
    await settle(here, merchant.headers, foreign)
    const seen = await until(summary, ({ failed }) => failed > 0)
    expect(seen).toMatchObject({ settled: 0, failures: [{ reason: 'invalid_network', failed: 1 }] })

    await callRpc(chain.rpcUrl, 'anvil_mine', '0x2')
    expect(await until(summary, ({ settled }) => settled > 0)).toMatchObject({ settled: 1, failed: 1 })
  })

  test('a failed claim that is reclaimed counts as both', async () => {
    const here = await facilitatorAtMoment({ rpcUrl, signerKeys: [(await newSigner(rpcUrl)).privateKey] })
    const merchant = await here.newMerchant()
    const payer = await newPayer(rpcUrl)
    expect(await settle(here, merchant.headers, await paymentRequest(payer))).toMatchObject({ success: true })
    const body = await paymentRequest(payer)
    // As if that one had been claimed before, and had failed before it was signed.
    await here.database.pool.query(
      `UPDATE settlements SET nonce = $1, status = 'failed', error_reason = 'insufficient_funds', transaction_id = NULL,
         transaction_hash = NULL, settled_at = NULL, success_reported_at = NULL, updated_at = '2026-01-31T12:00:00Z'`,
      [body.paymentPayload.payload.authorization.nonce],
    )
    expect(await settle(here, merchant.headers, body)).toMatchObject({ success: true })
    await settledThen(here)
    const query = { from: '2026-01-31', to: today }
    const months = await until(
      () =>
        here.read<(SettlementMetrics & { month: string })[]>(merchant.bearer, '/x402-metrics/monthly', query),
      (found) => found.length === 2,
    )
    expect(months.map(({ month, settled, failures }) => [month, settled, failures])).toEqual([
      ['2026-01', 0, [{ reason: 'insufficient_funds', failed: 1 }]],
      [today.slice(0, 7), 1, []],
    ])
  })
})
