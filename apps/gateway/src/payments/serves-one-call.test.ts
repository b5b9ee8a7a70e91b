import { encodeJson } from '@tollgate/protocol'
import { findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { errorIn, receiptIn, startPayPerRequest, USED, type PayPerRequest } from '../testing/pay-per-request'
import { signPayment, x402V2 } from '../testing/payment'
import { blockNumber, offerIn } from '../testing/plain'
import { answers, getRefusingUrl, startUpstream, type Answer } from '../testing/upstream'

let gateway: TestGateway
let replica: TestGateway
let call: PayPerRequest['call']
let newPayer: PayPerRequest['newPayer']
let statesOf: PayPerRequest['statesOf']
beforeAll(async () => {
  ;({ gateway, replica, call, newPayer, statesOf } = await startPayPerRequest())
})
afterAll(() => auditAndClose(gateway, replica))

describe('its header serves one call', () => {
  test('and is refused as used after it', async () => {
    const { payment, balance } = await newPayer()
    await call({ payment }).expect(200)
    for (const at of [gateway, replica]) {
      const again = await call({ payment, at })
      expect(errorIn(again)).toEqual(USED)
      expect(receiptIn(again)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    }
    expect(await balance()).toBe(99n)
    expect(gateway.facilitator.settlements.length).toBeGreaterThan(0)
  })

  test('of a hundred at once on two replicas, and settles once', async () => {
    const { address, payment, balance } = await newPayer()
    const upstream = await startUpstream(answers.result())
    const chain = await gateway.chain(upstream.url)
    const before = gateway.facilitator.settlements.length
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) => call({ payment, chain, at: [gateway, replica][index % 2]! })),
    )
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const each of outcomes.filter(({ status }) => status !== 200))
      expect([USED, [503, undefined]]).toContainEqual(errorIn(each))
    expect(upstream.requests).toHaveLength(1)
    expect(gateway.facilitator.settlements.length - before).toBe(1)
    expect(await balance()).toBe(99n)
    await gateway.ledger.drain()
    await replica.ledger.drain()
    expect(await statesOf(address)).toEqual([{ status: 'credited', call_state: 'served' }])
  })

  test('after a failed upstream it serves the next call, and is not settled again', async () => {
    const { address, payment, balance } = await newPayer()
    const before = gateway.facilitator.settlements.length
    const failed = await call({ payment, chain: await gateway.chain(await getRefusingUrl()) })
    expect(failed.body).toMatchObject({ error: { code: -32_603 } })
    expect(receiptIn(failed)).toMatchObject({ success: true })
    await gateway.ledger.drain()
    expect(await statesOf(address)).toEqual([{ status: 'credited', call_state: 'open' }])
    expect(await balance()).toBe(100n)
    await call({ payment, at: replica }).expect(200)
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(99n)
    expect(gateway.facilitator.settlements.length - before).toBe(1)
  })

  test('after an answer that its client did not wait for it serves the next call', async () => {
    const held: (() => void)[] = []
    const asked: { resolve?: () => void } = {}
    const arrived = new Promise<void>((resolve) => (asked.resolve = resolve))
    const slow: Answer = (res) => {
      held.push(() => res.end('late'))
      asked.resolve?.()
    }
    const chain = await gateway.chain((await startUpstream(slow)).url)
    const { address, payment, balance } = await newPayer()
    const leaving = new AbortController()
    const lost = fetch(`${gateway.url}/v1/${chain}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-payment': payment, 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify(blockNumber),
      signal: leaving.signal,
    }).catch(() => undefined)
    await arrived
    const meanwhile = await call({ payment, from: '203.0.113.9' })
    expect(outcomeOf(meanwhile)).toEqual([503, 'PAYMENT_PENDING'])
    leaving.abort()
    await lost
    await until(async () => (await statesOf(address))[0]?.call_state === 'open')
    expect(await balance()).toBe(100n)
    await call({ payment, from: '203.0.113.9' }).expect(200)
    expect(await balance()).toBe(99n)
  })

  test('while the replica that served it is dead, its outcome is pending, and then it serves', async () => {
    const { payment, address } = await newPayer()
    const chain = await gateway.chain((await startUpstream(answers.hang)).url)
    const dying = await testGateway({ beside: gateway })
    void call({ payment, chain, at: dying }).catch(() => undefined)
    await until(async () => (await statesOf(address))[0]?.call_state === 'reserved')
    expect(outcomeOf(await call({ payment }))).toEqual([503, 'PAYMENT_PENDING'])
    await gateway.pool.query(
      `WITH old AS (UPDATE reservations SET created_at = created_at - INTERVAL '1 hour' WHERE replica_id = $1)
       UPDATE replicas SET heartbeat_at = heartbeat_at - INTERVAL '1 hour' WHERE id = $1`,
      [dying.ledger.replicaId],
    )
    await gateway.ledger.refundOrphans()
    await call({ payment }).expect(200)
    expect(errorIn(await call({ payment }))).toEqual(USED)
  })
})

test('a settled payment whose plan has changed since serves its call, and is not asked for again', async () => {
  const { payment, balance } = await newPayer()
  await call({ payment, chain: await gateway.chain(await getRefusingUrl()) })
  await gateway.ledger.drain()
  gateway.catalog.plans[0] = planOf({ amount: '20000' })
  await gateway.reapply()
  await call({ payment }).expect(200)
  expect(errorIn(await call({ payment }))).toEqual(USED)
  gateway.catalog.plans[0] = planOf()
  await gateway.reapply()
  expect(await balance()).toBe(99n)
})

describe('a settled payment serves a call of what it bought', () => {
  test.each([
    ['its plan sells fewer credits since', [planOf({ credits: 5 })]],
    ['its plan sells more credits since', [planOf({ credits: 500 })]],
    ['its plan is retired, and one of the same price sells fewer', [planOf({ id: 8, credits: 5 })]],
    ['its plan is retired, and one of the same price sells more', [planOf({ id: 8, credits: 500 })]],
  ])('also if %s', async (_, plans) => {
    const { payment, balance } = await newPayer()
    await call({ payment, chain: await gateway.chain(await getRefusingUrl()) })
    await gateway.ledger.drain()
    const before = gateway.catalog.plans.splice(0, Infinity, ...plans)
    await gateway.reapply()
    const calls = (count: number) => Array.from({ length: count }, (_entry, id) => ({ ...blockNumber, id }))
    const tooMany = await call({ payment, body: calls(101) }).expect(200)
    const [{ error }] = tooMany.body as [{ error: { message: string } }]
    expect(error.message).toContain('one payment of plan 1 buys 100;')
    const served = await call({ payment, body: calls(60) })
    expect([served.status, served.headers['x-credits-charged']]).toEqual([200, '60'])
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(40n)
    gateway.catalog.plans.splice(0, Infinity, ...before)
    await gateway.reapply()
  })
})

test('an outcome that is not known yet is 503, and a crash after the settlement is made good for the same header', async () => {
  const { payment, address, balance } = await newPayer()
  gateway.facilitator.next('lost')
  expect(outcomeOf(await call({ payment }))).toEqual([503, 'PAYMENT_PENDING'])
  await gateway.pool.query('UPDATE payments SET next_attempt_at = now() WHERE payer = $1', [address])
  await gateway.reconcile()
  expect(await balance()).toBe(100n)
  await call({ payment }).expect(200)
  expect(errorIn(await call({ payment }))).toEqual(USED)
})

describe('a payment identifier', () => {
  const ID = 'payment-identifier'
  async function identified(wallet: Awaited<ReturnType<typeof newPayer>>, id: string) {
    const offer = offerIn(await call())
    const [entry] = offer.accepts
    const signed = await signPayment(wallet.signer, { payTo: entry!.payTo, amount: entry!.amount })
    return encodeJson({ ...x402V2(signed, offer), extensions: { [ID]: { info: { required: false, id } } } })
  }
  const send = (payment: string, body: unknown = blockNumber, from = '203.0.113.7') =>
    call({ payment, body, from, name: 'payment-signature' })
  const rowsOf = async (address: string) =>
    (await gateway.pool.query('SELECT id FROM payment_identifiers WHERE payer = $1', [address])).rowCount

  test('gets the same answer again for the same request, and a conflict for another one', async () => {
    const wallet = await newPayer()
    const payment = await identified(wallet, 'a-first-identifier')
    await send(payment).expect(200)
    const again = await send(payment)
    expect([again.status, again.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
    expect(again.headers['x-credits-charged']).toBeUndefined()
    expect(outcomeOf(await send(payment, { ...blockNumber, id: 2 }))).toEqual([409, 'CONFLICT'])
    expect(outcomeOf(await send(await identified(wallet, 'a-first-identifier')))).toEqual([409, 'CONFLICT'])
    expect(errorIn(await send(payment, blockNumber, '203.0.113.8'))).toEqual(USED)
    expect(await wallet.balance()).toBe(99n)
  })

  test('is a conflict for another request also once the authorization has expired', async () => {
    const wallet = await newPayer()
    const payment = await identified(wallet, 'an-expiring-identifier')
    await send(payment).expect(200)
    gateway.clock.advance(3_600)
    expect(outcomeOf(await send(payment, { ...blockNumber, id: 2 }))).toEqual([409, 'CONFLICT'])
    gateway.clock.advance(-3_600)
  })

  test('is held by a credited payment only, one for each', async () => {
    const wallet = await newPayer()
    gateway.facilitator.refuse('insufficient_funds')
    expect((await send(await identified(wallet, 'an-unpaid-identifier'))).status).toBe(402)
    gateway.facilitator.refuse(undefined)
    expect(await rowsOf(wallet.address)).toBe(0)

    const paid = await identified(wallet, 'an-unpaid-identifier')
    await send(paid).expect(200)
    const other = JSON.parse(Buffer.from(paid, 'base64').toString()) as { extensions: unknown }
    other.extensions = { [ID]: { info: { required: false, id: 'another-identifier' } } }
    expect(outcomeOf(await send(encodeJson(other)))).toEqual([409, 'CONFLICT'])
    expect(await rowsOf(wallet.address)).toBe(1)
  })
})

describe('a stranger with the header gets nothing', () => {
  test('after the call was served', async () => {
    const { payment, balance } = await newPayer()
    await call({ payment, from: '203.0.113.1' }).expect(200)
    expect(errorIn(await call({ payment, from: '203.0.113.2' }))).toEqual(USED)
    expect(await balance()).toBe(99n)
  })

  test('where the call failed, while its own client is served', async () => {
    const { payment } = await newPayer()
    await call({ payment, from: '203.0.113.1', chain: await gateway.chain(await getRefusingUrl()) })
    await gateway.ledger.drain()
    expect(errorIn(await call({ payment, from: '203.0.113.2' }))).toEqual(USED)
    await call({ payment, from: '203.0.113.1' }).expect(200)
  })

  test('where the payment was made in a session', async () => {
    const { payment, signIn, balance } = await newPayer()
    const session = await signIn()
    await session.call({ payment }).expect(200)
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(99n)
  })

  test('where it was settled elsewhere', async () => {
    const { payment, balance, address } = await newPayer()
    gateway.facilitator.refuse('duplicate_settlement')
    expect(errorIn(await call({ payment }))).toEqual(USED)
    gateway.facilitator.refuse(undefined)
    expect(await balance()).toBe(0n)
    expect(await statesOf(address)).toMatchObject([{ status: 'failed' }])
  })
})

test('the books balance', async () => {
  await gateway.ledger.drain()
  await replica.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})

async function until(condition: () => Promise<boolean>) {
  const deadline = performance.now() + 20_000
  while (!(await condition())) if (performance.now() > deadline) throw new Error('It did not happen')
}
