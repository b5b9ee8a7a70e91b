import { encodeJson } from '@tollgate/protocol'
import { randomBytes } from 'node:crypto'
import { openCatalog } from '../testing/catalog'
import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { signPayment, x402V2, type Authorization } from '../testing/payment'
import { blockNumber, offerIn, post } from '../testing/plain'
import { answers, startUpstream } from '../testing/upstream'
import { type TestWallet } from '../testing/wallet'
import { createDisputes } from './disputes'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ environment: { TRUSTED_PROXIES: 1 } })
  replica = await testGateway({ beside: gateway, environment: { TRUSTED_PROXIES: 1 } })
})
afterAll(() => auditAndClose(gateway, replica))

const url = '/v1/84532'

async function identified(wallet: TestWallet, id: string, changes: Partial<Authorization> = {}) {
  const offer = offerIn(await post(gateway.api, url))
  const [entry] = offer.accepts
  const signed = await signPayment(wallet.signer, { payTo: entry!.payTo, amount: entry!.amount }, changes)
  const extensions = { 'payment-identifier': { info: { required: false, id } } }
  return encodeJson({ ...x402V2(signed, offer), extensions })
}
const headersOf = (payment: string, from = '203.0.113.7') => ({
  'payment-signature': payment,
  'x-forwarded-for': from,
})
const send = (payment: string, body: unknown = blockNumber, from?: string, { api } = gateway) =>
  post(api, url, body, headersOf(payment, from))
const rowsOf = async (address: string) =>
  (await gateway.pool.query('SELECT id FROM payment_identifiers WHERE payer = $1', [address])).rowCount

/** Sends each payment to one of two replicas, and lets the facilitator settle once `isReady`. */
async function sendAtOnce(payments: string[], isReady: (answered: number) => boolean) {
  const release = gateway.facilitator.hold()
  let answered = 0
  const answers = payments.map(async (payment, index) => {
    const answer = await send(payment, blockNumber, undefined, [gateway, replica][index % 2])
    answered++
    return answer
  })
  const deadline = performance.now() + 20_000
  while (!isReady(answered) && performance.now() < deadline) await new Promise(setImmediate)
  release()
  return Promise.all(answers)
}
const conflict = [409, 'CONFLICT']

async function recordOf(address: string) {
  const text = 'SELECT id, nonce FROM payments WHERE payer = $1'
  const { rows } = await gateway.pool.query<{ id: string; nonce: string }>(text, [address])
  return rows[0]!
}

describe('a payment identifier', () => {
  test('gets the same answer again for the same request, and a conflict for another one', async () => {
    const wallet = gateway.wallet()
    const payment = await identified(wallet, 'a-first-identifier')
    await send(payment).expect(200)
    const again = await send(payment)
    expect([again.status, again.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
    expect(again.headers['x-credits-charged']).toBeUndefined()
    expect(outcomeOf(await send(payment, { ...blockNumber, id: 2 }))).toEqual(conflict)
    expect(outcomeOf(await send(await identified(wallet, 'a-first-identifier')))).toEqual(conflict)
    const strange = await send(payment, blockNumber, '203.0.113.8')
    expect([strange.status, strange.body]).toMatchObject([402, { error: 'duplicate_settlement' }])
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
  })

  test('is a conflict for another request also once the authorization has expired', async () => {
    const wallet = gateway.wallet()
    const payment = await identified(wallet, 'an-expiring-identifier')
    await send(payment).expect(200)
    gateway.clock.advance(3_600)
    expect(outcomeOf(await send(payment, { ...blockNumber, id: 2 }))).toEqual(conflict)
    gateway.clock.advance(-3_600)
  })

  test('of ten payments at once on two replicas is settled with one, and the others are refused before', async () => {
    const wallet = gateway.wallet()
    const { calls } = gateway.facilitator
    const before = calls.length
    const payments = await Promise.all(
      Array.from({ length: 10 }, () => identified(wallet, 'a-raced-identifier')),
    )
    const answers = await sendAtOnce(payments, (answered) => answered === 9 || calls.length - before > 1)
    expect(calls.length - before).toBe(1)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    const refused = answers.filter(({ status }) => status !== 200).map(outcomeOf)
    expect(refused).toEqual(Array<unknown>(9).fill(conflict))
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
  })

  test('with the same payment ten times at once on two replicas is no conflict, and is settled once', async () => {
    const wallet = gateway.wallet()
    const { calls } = gateway.facilitator
    const before = calls.length
    const payment = await identified(wallet, 'a-repeated-identifier')
    const answers = await sendAtOnce(Array<string>(10).fill(payment), () => calls.length > before)
    expect(calls.length - before).toBe(1)
    expect(answers.filter(({ status }) => ![200, 402, 503].includes(status))).toEqual([])
    await send(payment).expect(200)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
  })

  test('is a conflict while its payment has no outcome, and served with that payment', async () => {
    const wallet = gateway.wallet()
    const payment = await identified(wallet, 'a-pending-identifier')
    gateway.facilitator.next('lost')
    expect(outcomeOf(await send(payment))).toEqual([503, 'PAYMENT_PENDING'])
    const other = await identified(wallet, 'a-pending-identifier')
    expect(outcomeOf(await send(other))).toEqual(conflict)
    const { payments, settlements } = gateway
    const record = await payments.find((await recordOf(wallet.address)).id)
    const lateRefusal = { reason: 'insufficient_funds', detail: undefined }
    expect(await settlements.markRefused({ ...record!, hasNoOpenRequest: false }, lateRefusal)).toBe(false)
    expect(await rowsOf(wallet.address)).toBe(1)
    await gateway.pool.query(
      "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE payer = $1",
      [wallet.address],
    )
    await gateway.reconcile()
    expect(outcomeOf(await send(other))).toEqual(conflict)
    await send(payment).expect(200)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
  })

  test('of a refused payment is free, and held again by that payment once it is retried', async () => {
    const wallet = gateway.wallet()
    const retried = await identified(wallet, 'a-retried-identifier')
    gateway.facilitator.refuse('insufficient_funds')
    expect((await send(retried)).status).toBe(402)
    expect(await rowsOf(wallet.address)).toBe(0)
    gateway.facilitator.refuse(undefined)
    await gateway.pool.query(
      "UPDATE payments SET updated_at = now() - INTERVAL '15 seconds', created_at = now() - INTERVAL '25 seconds' WHERE payer = $1",
      [wallet.address],
    )
    gateway.facilitator.next('lost')
    expect(outcomeOf(await send(retried))).toEqual([503, 'PAYMENT_PENDING'])
    expect(outcomeOf(await send(await identified(wallet, 'a-retried-identifier')))).toEqual(conflict)
  })

  test('is held by a payment that is recorded under the nonce of a failed one', async () => {
    const { payments } = gateway
    const wallet = gateway.wallet()
    gateway.facilitator.refuse('insufficient_funds')
    await send(await identified(wallet, 'an-unpaid-identifier'))
    gateway.facilitator.refuse(undefined)
    const { id, nonce } = await recordOf(wallet.address)
    const failed = (await payments.find(id))!
    const plan = (await openCatalog(gateway.database, gateway.clock.now).findPlan(1))!
    const authorization = { plan, payer: wallet.address, nonce }
    const identifier = { id: 'a-second-identifier', fingerprint: 'of its request' }
    const { request } = failed
    const unset = { presentedBy: undefined, traceparent: undefined }
    const purchase = { wallet: wallet.address, request, identifier, ...unset }
    expect(await payments.createRetry(failed, authorization, purchase)).toMatchObject({ status: 'received' })
    expect(await rowsOf(wallet.address)).toBe(1)
    const other = payments.create({ ...authorization, nonce: 'another' }, purchase)
    await expect(other).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  test.each([
    ['close', 0],
    ['credit', 1],
  ] as const)(
    'is held by a disputed payment until an operator decides to %s it',
    async (decision, rowsLeft) => {
      const wallet = gateway.wallet()
      gateway.facilitator.next('mismatch')
      const payment = await identified(wallet, 'a-disputed-identifier')
      expect(outcomeOf(await send(payment))).toEqual([409, 'PAYMENT_DISPUTED'])
      expect(outcomeOf(await send(await identified(wallet, 'a-disputed-identifier')))).toEqual(conflict)
      const { id } = await recordOf(wallet.address)
      expect(await createDisputes(gateway.pool).resolve(id, decision)).toMatchObject({ id })
      expect(await rowsOf(wallet.address)).toBe(rowsLeft)
    },
  )

  test('cannot be held by a payment that its payer did not sign', async () => {
    const wallet = gateway.wallet()
    const payment = await identified(wallet, 'a-wanted-identifier')
    const forged = JSON.parse(Buffer.from(payment, 'base64').toString()) as { payload: { signature: string } }
    forged.payload.signature = `0x${randomBytes(64).toString('hex')}1b`
    expect((await send(encodeJson(forged), blockNumber, '203.0.113.9')).status).toBe(402)
    expect(await rowsOf(wallet.address)).toBe(0)
    await send(payment).expect(200)
  })

  test('is a conflict only for a payment that its payer signed and presents', async () => {
    const wallet = gateway.wallet()
    const paid = await identified(wallet, 'a-secret-identifier')
    await send(paid).expect(200)
    const forge = (payment: string, id: string, signature?: string) => {
      const forged = JSON.parse(Buffer.from(payment, 'base64').toString()) as {
        payload: { signature: string }
        extensions: unknown
      }
      if (signature !== undefined) forged.payload.signature = signature
      forged.extensions = { 'payment-identifier': { info: { required: false, id } } }
      return encodeJson(forged)
    }
    const unsigned = `0x${randomBytes(64).toString('hex')}1b`
    const unpaid = await identified(wallet, 'an-unused-identifier')
    for (const [payment, signature] of [
      [unpaid, unsigned],
      [unpaid, '0x'],
      [paid, unsigned],
      [paid],
    ] as const) {
      const [used, unused] = await Promise.all(
        ['a-secret-identifier', 'a-guessed-identifier'].map((id) =>
          send(forge(payment, id, signature), { ...blockNumber, id: 2 }, '203.0.113.9'),
        ),
      )
      expect([used!.status, used!.body]).toEqual([402, unused!.body])
    }
    expect(await rowsOf(wallet.address)).toBe(1)
  })

  test('is held by an open or credited payment only, one for each', async () => {
    const wallet = gateway.wallet()
    gateway.facilitator.refuse('insufficient_funds')
    expect((await send(await identified(wallet, 'an-unpaid-identifier'))).status).toBe(402)
    gateway.facilitator.refuse(undefined)
    expect(await rowsOf(wallet.address)).toBe(0)

    const paid = await identified(wallet, 'an-unpaid-identifier')
    await send(paid).expect(200)
    const other = JSON.parse(Buffer.from(paid, 'base64').toString()) as { extensions: unknown }
    other.extensions = { 'payment-identifier': { info: { required: false, id: 'another-identifier' } } }
    expect(outcomeOf(await send(encodeJson(other)))).toEqual(conflict)
    expect(await rowsOf(wallet.address)).toBe(1)
  })

  test('is a conflict for another query of the same path', async () => {
    const payment = await identified(gateway.wallet(), 'a-queried-identifier')
    const get = (query: string) => gateway.api.get(`${url}/rest/x?${query}`).set(headersOf(payment))
    await get('height=1').expect(200)
    expect(outcomeOf(await get('height=2'))).toEqual(conflict)
  })

  test('gets no answer again that is long', async () => {
    const { url: other } = await startUpstream(answers.result('x'.repeat(8_192)))
    const chain = await gateway.chain(other)
    const headers = headersOf(await identified(gateway.wallet(), 'an-identifier-of-much'))
    const sendLong = () => post(gateway.api, `/v1/${chain}`, blockNumber, headers)
    await sendLong().expect(200)
    expect((await sendLong()).status).toBe(402)
  })

  test('of one payer is not that of another', async () => {
    const { url: other } = await startUpstream(answers.result('0x2'))
    const chain = await gateway.chain(other)
    const [one, another] = [gateway.wallet(), gateway.wallet()]
    const payment = await identified(one, 'an-identifier-of-two')
    await send(payment).expect(200)
    const headers = headersOf(await identified(another, 'an-identifier-of-two'))
    const answer = await post(gateway.api, `/v1/${chain}`, blockNumber, headers)
    expect(answer.body).toMatchObject({ result: '0x2' })
    expect((await send(payment)).body).toMatchObject({ result: '0x1' })
  })
})
