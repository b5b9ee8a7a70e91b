import { type SettleResult } from '@tollgate/protocol'
import { closeAll, readableLog } from '@tollgate/testing'
import { newPayer, newSigner, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { newClient, testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()

afterAll(closeAll)

/** Two facilitators with the same signers over one database. */
async function replicas(signers = 1) {
  const wallets = await Promise.all(Array.from({ length: signers }, () => newSigner(rpcUrl)))
  const first = await testFacilitator({ signerKeys: wallets.map(({ privateKey }) => privateKey) })
  const second = await testFacilitator(first.settings)
  return {
    first,
    second,
    client: await newClient(first.api),
    addresses: wallets.map(({ address }) => address),
  }
}

async function settle(
  { api }: TestFacilitator,
  headers: object,
  body: PaymentRequest,
): Promise<SettleResult> {
  const answer = await api
    .post('/api/v1/settle')
    .set({ ...headers })
    .send(body)
    .expect(200)
  return answer.body as SettleResult
}

const sum = (counts: number[]) => counts.reduce((total, count) => total + count, 0)

describe('two replicas', () => {
  test('send one transaction and report one success for twenty concurrent requests of one payment', async () => {
    const { first, second, client, addresses } = await replicas()
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)

    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => settle(i % 2 ? first : second, client, body)),
    )

    expect(results.filter(({ success }) => success)).toHaveLength(1)
    const reasons = results.filter(({ success }) => !success).map(({ errorReason }) => errorReason)
    expect(reasons).toEqual(Array(19).fill('duplicate_settlement'))
    expect(await transactionCount(rpcUrl, addresses[0]!)).toBe(1)
    expect((await transfersFrom(rpcUrl, payer.address)).map(({ value }) => value)).toEqual([AMOUNT])
  })

  test('report the same success to twenty concurrent requests with one Idempotency-Key', async () => {
    const { first, second, client, addresses } = await replicas()
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const headers = { ...client, 'Idempotency-Key': 'order-1' }

    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => settle(i % 2 ? first : second, headers, body)),
    )

    expect(results[0]).toMatchObject({ success: true })
    expect(results).toEqual(Array(20).fill(results[0]))
    expect(await transactionCount(rpcUrl, addresses[0]!)).toBe(1)
  })

  test('report success to one of twenty clients that request one payment concurrently', async () => {
    const { first, second } = await replicas()
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const clients: ClientHeaders[] = await Promise.all(Array.from({ length: 20 }, () => newClient(first.api)))

    const results = await Promise.all(
      clients.map((client, i) => settle(i % 2 ? first : second, client, body)),
    )

    expect(results.filter(({ success }) => success)).toHaveLength(1)
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test('share the payments among several signers, each once', async () => {
    const { first, second, client, addresses } = await replicas(3)
    const payers = await Promise.all(Array.from({ length: 20 }, () => newPayer(rpcUrl)))
    const bodies = await Promise.all(payers.map((payer) => paymentRequest(payer)))

    const results = await Promise.all(bodies.map((body, i) => settle(i % 2 ? first : second, client, body)))

    expect(results.filter(({ success }) => success)).toHaveLength(20)
    const counts = await Promise.all(addresses.map((address) => transactionCount(rpcUrl, address)))
    expect(sum(counts)).toBe(new Set(results.map(({ transaction }) => transaction)).size)
    for (const { address } of payers) expect(await transfersFrom(rpcUrl, address)).toHaveLength(1)
  })

  test('have one leader of a signer at a time; when it stops, the other one takes over and settles', async () => {
    const payer = await newPayer(rpcUrl)
    const [firstLog, secondLog] = [readableLog(), readableLog()]
    const first = await testFacilitator({ log: firstLog.stream })
    const client = await newClient(first.api)
    expect(await settle(first, client, await paymentRequest(payer))).toMatchObject({ success: true })
    const second = await testFacilitator({ ...first.settings, log: secondLog.stream })
    expect(await settle(second, client, await paymentRequest(payer))).toMatchObject({ success: true })
    await firstLog.line('signer lock acquired')
    expect(secondLog.text()).not.toContain('signer lock acquired')

    await first.close()
    expect(await settle(second, client, await paymentRequest(payer))).toMatchObject({ success: true })
    await secondLog.line('signer lock acquired')
  })

  test('continue after Postgres ends their sessions', async () => {
    const { first, second, client, addresses } = await replicas()
    const payer = await newPayer(rpcUrl)
    await first.database.pool.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    )
    const body = await paymentRequest(payer)
    await first.database.pool.query('SELECT 1')
    await second.database.pool.query('SELECT 1').catch(() => undefined)
    expect(await settle(second, client, body)).toMatchObject({ success: true })
    expect(await transactionCount(rpcUrl, addresses[0]!)).toBe(1)
  })
})
