import { type SettleResult } from '@tollgate/protocol'
import { closeAll, readableLog } from '@tollgate/testing'
import { type BaseWallet } from 'ethers'
import { once } from 'node:events'
import { newPayer, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { sendAuthorization } from '../testing/third-party'
import { newClient, testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let client: ClientHeaders
let signer: BaseWallet

beforeAll(async () => {
  ;({ facilitator, client, signer } = await facilitatorWithClient())
})
afterAll(closeAll)

async function settle(
  body: PaymentRequest,
  headers: object = {},
  { api } = facilitator,
): Promise<SettleResult> {
  const answer = await api
    .post('/api/v1/settle')
    .set({ ...client, ...headers })
    .send(body)
    .expect(200)
  return answer.body as SettleResult
}

const duplicate = {
  success: false,
  transaction: '',
  errorReason: 'duplicate_settlement',
  network: 'base-sepolia',
  payer: '',
  blockNumber: 0,
  timestamp: expect.any(String) as string,
}

describe('POST /settle', () => {
  test('accepts the network by name, chain id or CAIP-2, and payTo in any letter case', async () => {
    const payer = await newPayer(rpcUrl)
    for (const network of ['base-sepolia', '84532', 'eip155:84532']) {
      const body = await paymentRequest(payer, { requirements: { network } })
      body.paymentRequirements.payTo = body.paymentRequirements.payTo.toLowerCase()
      expect(await settle(body)).toMatchObject({ success: true, network: 'base-sepolia' })
    }
  })

  describe('a settled payment', () => {
    test('is refused to its client, to other clients, with other requirements and after a restart', async () => {
      const payer = await newPayer(rpcUrl)
      const body = await paymentRequest(payer)
      expect(await settle(body)).toMatchObject({ success: true })
      const sent = await transactionCount(rpcUrl, signer.address)

      expect(await settle(body)).toEqual(duplicate)
      expect(await settle(body, { 'Idempotency-Key': 'late' })).toEqual(duplicate)
      expect(await settle(body, await newClient(facilitator.api))).toEqual(duplicate)
      const changed = { ...body, paymentRequirements: { ...body.paymentRequirements, description: 'other' } }
      expect(await settle(changed)).toEqual(duplicate)
      const restarted = await testFacilitator(facilitator.settings)
      expect(await settle(body, {}, restarted)).toEqual(duplicate)

      expect(await transactionCount(rpcUrl, signer.address)).toBe(sent)
      expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
    })

    test('is reported again only to a repeat of its Idempotency-Key and body', async () => {
      const body = await paymentRequest(await newPayer(rpcUrl))
      const first = await settle(body, { 'Idempotency-Key': 'order-1' })
      expect(first).toMatchObject({ success: true })

      expect(await settle(body, { 'Idempotency-Key': 'order-1' })).toEqual(first)
      expect(await settle(body, { 'Idempotency-Key': 'order-2' })).toEqual(duplicate)
      expect(await settle(body)).toEqual(duplicate)
      const other = await newClient(facilitator.api)
      expect(await settle(body, { ...other, 'Idempotency-Key': 'order-1' })).toEqual(duplicate)
      const changed = { ...body, paymentRequirements: { ...body.paymentRequirements, description: 'other' } }
      expect(await settle(changed, { 'Idempotency-Key': 'order-1' })).toEqual(duplicate)
    })

    test('cannot be settled again with another encoding of its signature', async () => {
      const payer = await newPayer(rpcUrl)
      const body = await paymentRequest(payer)
      expect(await settle(body)).toMatchObject({ success: true })
      const { signature } = body.paymentPayload.payload
      for (const form of [
        signature.toUpperCase().replace('0X', '0x'),
        `${signature}00`,
        signature.slice(0, -2),
      ]) {
        const changed = structuredClone(body)
        changed.paymentPayload.payload.signature = form
        expect(await settle(changed)).toMatchObject({ success: false })
      }
      expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
    })
  })

  test('rejects an Idempotency-Key that is too long or not visible ASCII', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    for (const key of ['k'.repeat(129), 'with space', 'schlüssel']) {
      const answer = await facilitator.api
        .post('/api/v1/settle')
        .set({ ...client, 'Idempotency-Key': key })
        .send(body)
      expect([answer.status, (answer.body as { code: string }).code]).toEqual([400, 'INVALID_REQUEST'])
    }
  })

  test('settles fifty concurrent payments once each, with contiguous nonces', async () => {
    const payers = await Promise.all(Array.from({ length: 10 }, () => newPayer(rpcUrl)))
    const bodies = await Promise.all(Array.from({ length: 50 }, (_, i) => paymentRequest(payers[i % 10]!)))
    const before = await transactionCount(rpcUrl, signer.address)

    const results = await Promise.all(bodies.map((body) => settle(body)))

    expect(results.filter(({ success }) => success)).toHaveLength(50)
    const { size } = new Set(results.map(({ transaction }) => transaction))
    expect(size).toBeLessThan(50)
    expect(await transactionCount(rpcUrl, signer.address)).toBe(before + size)
    const transfers = await Promise.all(payers.map(({ address }) => transfersFrom(rpcUrl, address)))
    expect(transfers.map((list) => list.length)).toEqual(Array(10).fill(5))
  })

  test('refuses a payment that a third party settled before the request, and sends nothing', async () => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    await sendAuthorization(rpcUrl, body)
    const sent = await transactionCount(rpcUrl, signer.address)

    for (const headers of [undefined, await newClient(facilitator.api)])
      expect(await settle(body, headers)).toMatchObject({
        success: false,
        errorReason: 'invalid_transaction_state',
        transaction: '',
      })
    expect(await transactionCount(rpcUrl, signer.address)).toBe(sent)
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test('settles one of two payments if the balance covers one', async () => {
    const payer = await newPayer(rpcUrl, AMOUNT)
    const bodies = [await paymentRequest(payer), await paymentRequest(payer)]
    const results = await Promise.all(bodies.map((body) => settle(body)))

    expect(results.filter(({ success }) => success)).toHaveLength(1)
    expect(results.find(({ success }) => !success)).toMatchObject({
      transaction: '',
      payer: '',
      blockNumber: 0,
    })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test('sends nothing while fees exceed the cap, and settles the payment afterwards', async () => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const { facilitator: capped, client: headers, sent } = await facilitatorWithClient({ maxFeePerGas: 1n })
    expect(await settle(body, headers, capped)).toMatchObject({
      success: false,
      errorReason: 'unexpected_settle_error',
      transaction: '',
    })
    expect(await sent()).toBe(0)
    await capped.close()

    const { maxFeePerGas: _, ...settings } = capped.settings
    const uncapped = await testFacilitator(settings)
    expect(await settle(body, headers, uncapped)).toMatchObject({ success: true })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  })

  test('repeats the failure to a repeat under its Idempotency-Key', async () => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    const capped = await testFacilitator({ maxFeePerGas: 1n })
    const headers = { ...(await newClient(capped.api)), 'Idempotency-Key': 'order-3' }
    const first = await settle(body, headers, capped)
    const { rows } = await capped.database.pool.query('SELECT created_at FROM settlements')
    expect(await settle(body, headers, capped)).toMatchObject({
      success: false,
      errorReason: first.errorReason,
    })
    expect((await capped.database.pool.query('SELECT created_at FROM settlements')).rows).toEqual(rows)
  })

  test('accepts requirements of unmodified x402 clients, and strings that Postgres would reject', async () => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const odd = { outputSchema: { input: null }, description: 'NUL \u0000 and half a pair \ud800' }
    const payload = { ...body.paymentPayload.payload, memo: '\u0000\ud800' }
    const answer = await facilitator.api
      .post('/api/v1/settle')
      .set(client)
      .send({
        ...body,
        paymentPayload: { ...body.paymentPayload, payload },
        paymentRequirements: { ...body.paymentRequirements, ...odd },
      })
      .expect(200)
    expect(answer.body).toMatchObject({ success: true })
  })
})

test('the log has the events of a settlement and no secrets', async () => {
  const log = readableLog()
  const logged = await facilitatorWithClient({ log: log.stream })
  const { client: headers, signer: key } = logged
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer)
  const { transaction } = await logged.settle(body)

  // The response may precede the log line: it is triggered by the commit.
  await log.line('settlement settled')
  const events = log.lines()
  const about = (message: string) => events.find((event) => event.message === message)
  expect(about('settlement claimed')).toMatchObject({
    network: 'base-sepolia',
    amount: AMOUNT.toString(),
    payer: payer.address,
    payTo: body.paymentRequirements.payTo,
    client: headers['X-Client-ID'],
  })
  expect(about('settlement signed')).toMatchObject({ transaction, signer: key.address })
  expect(about('settlement settled')).toMatchObject({
    transaction,
    blockNumber: expect.any(String) as string,
  })
  const { signature } = body.paymentPayload.payload
  for (const secret of [signature.slice(2), headers['X-Client-Token'], key.privateKey.slice(2)])
    expect(log.text()).not.toContain(secret)
})

test('each line about a settlement is found by its id, by the payment of the gateway and by its request', async () => {
  const log = readableLog()
  const { facilitator, settle } = await facilitatorWithClient({ log: log.stream })
  const [paymentId, requestId] = ['0c5b1f9e-6f0f-4a53-9f0a-9e64a26c1b1a', 'request-of-the-gateway']
  const payment = async () => paymentRequest(await newPayer(rpcUrl))
  await settle(await payment(), { 'Idempotency-Key': paymentId, 'X-Request-Id': requestId })
  await settle(await payment())

  const { id } = await facilitator.database.prisma.settlement.findFirstOrThrow({
    where: { idempotencyKey: paymentId },
  })
  const settlementId = id.toString()
  const ofRequests = () =>
    log.lines().filter(({ message, path }) => message === 'request' && path === '/api/v1/settle')
  const settled = () => log.lines().filter(({ message }) => message === 'settlement settled')
  while (ofRequests().length < 2 || settled().length < 2) await once(log.stream, 'data')
  const lines: Record<string, unknown>[] = log.lines()
  const ids = { settlementId, paymentId, requestId }
  const about = (name: keyof typeof ids) => lines.filter((line) => line[name] === ids[name])
  const messages = ['settlement claimed', 'settlement signed', 'settlement settled']
  for (const name of ['settlementId', 'paymentId'] as const)
    expect(about(name)).toEqual(
      messages.map((message) => expect.objectContaining({ message, ...ids }) as unknown),
    )
  expect(
    about('requestId')
      .map(({ message }) => message)
      .sort(),
  ).toEqual(['request', ...messages].sort())
  expect(log.text()).not.toContain('[masked]')

  const others = lines.filter(
    (line) => messages.includes(String(line.message)) && line.settlementId !== settlementId,
  )
  expect(others.map(({ message }) => message)).toEqual(messages)
  for (const line of others) {
    expect(line).not.toHaveProperty('paymentId')
    expect(line.requestId).toMatch(/^[0-9a-f-]{36}$/)
  }
})
