import { decodeJson, encodeJson, type SettleResult } from '@tollgate/protocol'
import { randomBytes } from 'node:crypto'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment, x402, x402V2 } from '../testing/payment'
import { blockNumber, offerIn, post } from '../testing/plain'
import { answers, getRefusingUrl, startUpstream, type Answer } from '../testing/upstream'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ environment: { TRUSTED_PROXIES: 1 } })
  replica = await testGateway({ beside: gateway, environment: { TRUSTED_PROXIES: 1 } })
})
afterAll(() => auditAndClose(gateway, replica))

type Call = {
  payment?: string
  chain?: string
  body?: unknown
  from?: string
  at?: TestGateway
  name?: string
}

const call = ({ payment, chain = '84532', body, from, at = gateway, name = 'x-payment' }: Call = {}) =>
  post(at.api, `/v1/${chain}`, body, {
    ...(payment === undefined ? {} : { [name]: payment }),
    ...(from === undefined ? {} : { 'x-forwarded-for': from }),
  })

async function payer(changes = {}) {
  const wallet = gateway.wallet()
  return {
    ...wallet,
    payment: await wallet.pay(planOf(), changes),
    balance: () => balanceOf(gateway.ledger, wallet.address),
  }
}

const receiptIn = ({ headers }: { headers: Record<string, string> }) =>
  decodeJson(headers['x-payment-response'] ?? '') as SettleResult

const errorIn = (answer: { status: number; body: unknown }) => [
  answer.status,
  (answer.body as { error?: string }).error,
]
const USED = [402, 'duplicate_settlement']

async function stateOf(address: string) {
  const { rows } = await gateway.pool.query<{ status: string; call_state: string }>(
    'SELECT status, call_state FROM payments WHERE payer = $1',
    [address],
  )
  return rows
}

describe('a payment without a sign-in', () => {
  test('is settled, credited to its payer, and serves the call', async () => {
    const { address, payment, balance } = await payer()
    const answer = await call({ payment })
    expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
    expect(receiptIn(answer)).toMatchObject({ success: true, payer: address })
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '1', 'x-credits-remaining': '99' })
    expect(await balance()).toBe(99n)
  })

  test('of x402 version 2 pays the plan that its payer accepted', async () => {
    gateway.catalog.plans.push(planOf({ id: 7, amount: '20000', credits: 300 }))
    await gateway.reapply()
    const wallet = gateway.wallet()
    const offer = offerIn(await call())
    const entry = offer.accepts.find(({ amount }) => amount === '20000')!
    const signed = await signPayment(wallet.signer, { payTo: entry.payTo, amount: entry.amount })
    const payload = x402V2(signed, { ...offer, accepts: [entry] })
    await call({ payment: encodeJson(payload), name: 'payment-signature' }).expect(200)
    expect(await balanceOf(gateway.ledger, wallet.address, 7)).toBe(299n)

    const other = gateway.wallet()
    const [version1] = await Promise.all([call({ payment: await other.pay(planOf({ amount: '20000' })) })])
    expect(version1.status).toBe(200)
    expect(await balanceOf(gateway.ledger, other.address, 7)).toBe(299n)
    gateway.catalog.plans.pop()
    await gateway.reapply()
  })

  test('leaves the other credits to its payer, who spends them after a sign-in', async () => {
    const { payment, signIn, balance } = await payer()
    await call({ payment }).expect(200)
    const session = await signIn()
    await session.call().expect(200)
    expect(await balance()).toBe(98n)
  })

  test('pays a REST call', async () => {
    const { payment } = await payer()
    await gateway.api.get('/v1/84532/rest/x').expect(402)
    await gateway.api.get('/v1/84532/rest/x').set('x-payment', payment).expect(200)
  })

  test('with an access key is the purchase of its payer', async () => {
    const holder = await payer()
    const session = await holder.signIn()
    const made = await gateway.api
      .post('/keys')
      .set('authorization', `Bearer ${session.token}`)
      .send({ label: 'x' })
    const path = `84532/${(made.body as { key: string }).key}`
    const other = await payer()
    await call({ chain: path, payment: other.payment }).expect(200)
    expect([await holder.balance(), await other.balance()]).toEqual([0n, 99n])
  })
})

describe('its header serves one call', () => {
  test('and is refused as used after it', async () => {
    const { payment, balance } = await payer()
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
    const { address, payment, balance } = await payer()
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
    expect(await stateOf(address)).toEqual([{ status: 'credited', call_state: 'served' }])
  })

  test('after a failed upstream it serves the next call, and is not settled again', async () => {
    const { address, payment, balance } = await payer()
    const before = gateway.facilitator.settlements.length
    const failed = await call({ payment, chain: await gateway.chain(await getRefusingUrl()) })
    expect(failed.body).toMatchObject({ error: { code: -32_603 } })
    expect(receiptIn(failed)).toMatchObject({ success: true })
    await gateway.ledger.drain()
    expect(await stateOf(address)).toEqual([{ status: 'credited', call_state: 'open' }])
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
    const { address, payment, balance } = await payer()
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
    await until(async () => (await stateOf(address))[0]?.call_state === 'open')
    expect(await balance()).toBe(100n)
    await call({ payment, from: '203.0.113.9' }).expect(200)
    expect(await balance()).toBe(99n)
  })

  test('while the replica that served it is dead, its outcome is pending, and then it serves', async () => {
    const { payment, address } = await payer()
    const chain = await gateway.chain((await startUpstream(answers.hang)).url)
    const dying = await testGateway({ beside: gateway })
    void call({ payment, chain, at: dying }).catch(() => undefined)
    await until(async () => (await stateOf(address))[0]?.call_state === 'reserved')
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
  const { payment, balance } = await payer()
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

test('such a payment buys what its own plan sells, and is none of a network that it does not name', async () => {
  gateway.catalog.plans.push(planOf({ id: 7, amount: '20000', credits: 300 }))
  await gateway.reapply()
  const { signer, address } = gateway.wallet()
  const signed = await signPayment(signer, { payTo: planOf().pay_to, amount: '20000' })
  const chain = await gateway.chain(await getRefusingUrl())
  await call({ payment: paymentHeader(signed), chain })
  await gateway.ledger.drain()
  gateway.catalog.plans[1] = planOf({ id: 7, amount: '30000', credits: 300 })
  await gateway.reapply()
  const elsewhere = encodeJson({ ...x402(signed), network: 'base' })
  expect(errorIn(await call({ payment: elsewhere }))).toEqual([402, 'invalid_payment_requirements'])
  const body = Array.from({ length: 150 }, (_, id) => ({ ...blockNumber, id }))
  await call({ payment: paymentHeader(signed), body }).expect(200)
  expect(await balanceOf(gateway.ledger, address, 7)).toBe(150n)
  gateway.catalog.plans.pop()
  await gateway.reapply()
})

test('HEAD takes no payment', async () => {
  const { payment, address } = await payer()
  const answer = await gateway.api.head('/v1/84532/rest/x').set('x-payment', payment)
  expect([answer.status, answer.headers.allow]).toEqual([405, 'GET, POST'])
  expect(await stateOf(address)).toEqual([])
})

describe('a stranger with the header gets nothing', () => {
  test('after the call was served', async () => {
    const { payment, balance } = await payer()
    await call({ payment, from: '203.0.113.1' }).expect(200)
    expect(errorIn(await call({ payment, from: '203.0.113.2' }))).toEqual(USED)
    expect(await balance()).toBe(99n)
  })

  test('where the call failed, while its own client is served', async () => {
    const { payment } = await payer()
    await call({ payment, from: '203.0.113.1', chain: await gateway.chain(await getRefusingUrl()) })
    await gateway.ledger.drain()
    expect(errorIn(await call({ payment, from: '203.0.113.2' }))).toEqual(USED)
    await call({ payment, from: '203.0.113.1' }).expect(200)
  })

  test('where the payment was made in a session', async () => {
    const { payment, signIn, balance } = await payer()
    const session = await signIn()
    await session.call({ payment }).expect(200)
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(99n)
  })

  test('where it was settled elsewhere', async () => {
    const { payment, balance, address } = await payer()
    gateway.facilitator.refuse('duplicate_settlement')
    expect(errorIn(await call({ payment }))).toEqual(USED)
    gateway.facilitator.refuse(undefined)
    expect(await balance()).toBe(0n)
    expect(await stateOf(address)).toMatchObject([{ status: 'failed' }])
  })
})

describe('a payment that is refused', () => {
  test('by its terms is not settled, and all plans are offered', async () => {
    const wallet = gateway.wallet()
    const before = gateway.facilitator.calls.length
    const other = planOf({ pay_to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' })
    for (const payment of [await wallet.pay(planOf({ amount: '9999' })), await wallet.pay(other)]) {
      const answer = await call({ payment })
      expect(errorIn(answer)).toEqual([402, 'invalid_payment_requirements'])
      expect(offerIn(answer).accepts.length).toBeGreaterThan(0)
    }
    expect(gateway.facilitator.calls.length).toBe(before)
  })

  test('for a call that costs more than it buys, or that cannot be read, is not taken', async () => {
    const { payment, address } = await payer()
    const batch = Array.from({ length: 101 }, (_, id) => ({ ...blockNumber, id }))
    const dear = await call({ payment, body: batch })
    expect(dear.body).toContainEqual(
      expect.objectContaining({ error: expect.objectContaining({ code: -32_600 }) as unknown }),
    )
    expect((await call({ payment, body: '{' })).body).toMatchObject({ error: { code: -32_700 } })
    expect(outcomeOf(await call({ payment, chain: 'nowhere' }))).toEqual([404, 'NOT_FOUND'])
    expect(outcomeOf(await gateway.api.get('/v1/84532').set('x-payment', payment))).toEqual([
      405,
      'METHOD_NOT_ALLOWED',
    ])
    expect(await stateOf(address)).toEqual([])
  })

  test('that is no payment is 400', async () => {
    expect(outcomeOf(await call({ payment: 'abc' }))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('a signature that only a contract could have made', () => {
  const forged = async () => {
    const { signer, address } = gateway.wallet()
    const { authorization } = await signPayment(signer, { payTo: planOf().pay_to, amount: planOf().amount })
    const signature = `0x${randomBytes(64).toString('hex')}1b`
    return { address, payment: paymentHeader({ signature, authorization }) }
  }

  test('is verified first, and nothing is stored or settled if it is not valid', async () => {
    const { address, payment } = await forged()
    const before = gateway.facilitator.calls.length
    expect(errorIn(await call({ payment }))).toEqual([402, 'invalid_exact_evm_payload_signature'])
    expect(await stateOf(address)).toEqual([])
    expect(gateway.facilitator.calls.length).toBe(before)
  })

  test('pays if it is valid', async () => {
    const { address, payment } = await forged()
    gateway.facilitator.contractWallets.add(address)
    await call({ payment }).expect(200)
    expect(await balanceOf(gateway.ledger, address)).toBe(99n)
  })

  test('counts against the address that sends it, not against the payer', async () => {
    const limited = await testGateway({
      beside: gateway,
      environment: { RATE_LIMIT_PAYMENTS_PER_MINUTE: 9, TRUSTED_PROXIES: 1 },
    })
    const asked = gateway.facilitator.verifyAsked()
    const victim = await payer()
    const outcomes = []
    for (let index = 0; index < 9; index++) {
      const { signer } = victim
      const { authorization } = await signPayment(signer, { payTo: planOf().pay_to, amount: planOf().amount })
      const payment = paymentHeader({ signature: `0x${randomBytes(64).toString('hex')}1b`, authorization })
      outcomes.push((await call({ payment, at: limited, from: '203.0.113.5' })).status)
    }
    expect(outcomes).toEqual([402, 402, 402, 429, 429, 429, 429, 429, 429])
    expect(gateway.facilitator.verifyAsked() - asked).toBe(3)
    await call({ payment: victim.payment, at: limited, from: '203.0.113.6' }).expect(200)
    await limited.ledger.drain()
  })
})

test('an outcome that is not known yet is 503, and a crash after the settlement is made good for the same header', async () => {
  const { payment, address, balance } = await payer()
  gateway.facilitator.next('lost')
  expect(outcomeOf(await call({ payment }))).toEqual([503, 'PAYMENT_PENDING'])
  await gateway.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE payer = $1",
    [address],
  )
  await gateway.reconcile()
  expect(await balance()).toBe(100n)
  await call({ payment }).expect(200)
  expect(errorIn(await call({ payment }))).toEqual(USED)
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
