import { encodeJson } from '@tollgate/protocol'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { errorIn, receiptIn, payPerRequest, USED } from '../testing/pay-per-request'
import { paymentHeader, signPayment, x402 } from '../testing/payment'
import { blockNumber } from '../testing/plain'
import { answers, getRefusingUrl, startUpstream } from '../testing/upstream'

const world = payPerRequest()
const { call, newPayer, statesOf } = world

describe('its header serves one call', () => {
  test('and is refused as used after it', async () => {
    const { payment, balance } = await newPayer()
    await call({ payment }).expect(200)
    for (const at of [world.gateway, world.replica]) {
      const again = await call({ payment, at })
      expect(errorIn(again)).toEqual(USED)
      expect(receiptIn(again)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    }
    expect(await balance()).toBe(99n)
    expect(world.gateway.facilitator.settlements.length).toBeGreaterThan(0)
  })

  test('of a hundred at once on two replicas, and settles once', async () => {
    const { address, payment, balance } = await newPayer()
    const upstream = await startUpstream(answers.result())
    const chain = await world.gateway.chain(upstream.url)
    const before = world.gateway.facilitator.settlements.length
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        call({ payment, chain, at: [world.gateway, world.replica][index % 2]! }),
      ),
    )
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const each of outcomes.filter(({ status }) => status !== 200))
      expect([USED, [503, undefined]]).toContainEqual(errorIn(each))
    expect(upstream.requests).toHaveLength(1)
    expect(world.gateway.facilitator.settlements.length - before).toBe(1)
    expect(await balance()).toBe(99n)
    await world.gateway.ledger.drain()
    await world.replica.ledger.drain()
    expect(await statesOf(address)).toEqual([{ status: 'credited', call_state: 'served' }])
  })

  test('after a failed upstream it serves the next call, and is not settled again', async () => {
    const { address, payment, balance } = await newPayer()
    const before = world.gateway.facilitator.settlements.length
    const failed = await call({ payment, chain: await world.gateway.chain(await getRefusingUrl()) })
    expect(failed.body).toMatchObject({ error: { code: -32_603 } })
    expect(receiptIn(failed)).toMatchObject({ success: true })
    await world.gateway.ledger.drain()
    expect(await statesOf(address)).toEqual([{ status: 'credited', call_state: 'open' }])
    expect(await balance()).toBe(100n)
    await call({ payment, at: world.replica }).expect(200)
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(99n)
    expect(world.gateway.facilitator.settlements.length - before).toBe(1)
  })

  test('after an answer that its client did not wait for it serves the next call', async () => {
    const asked = event()
    const chain = await world.gateway.chain((await startUpstream(asked.resolve)).url)
    const { address, payment, balance } = await newPayer()
    const leaving = new AbortController()
    const lost = fetch(`${world.gateway.url}/v1/${chain}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-payment': payment, 'x-forwarded-for': '203.0.113.9' },
      body: JSON.stringify(blockNumber),
      signal: leaving.signal,
    }).catch(() => undefined)
    await asked.promise
    const meanwhile = await call({ payment, from: '203.0.113.9' })
    expect(outcomeOf(meanwhile)).toEqual([503, 'PAYMENT_PENDING'])
    leaving.abort()
    await lost
    await until(async () => (await statesOf(address))[0]?.call_state === 'open')
    expect(await balance()).toBe(100n)
    await call({ payment, from: '203.0.113.9' }).expect(200)
    expect(await balance()).toBe(99n)
  })

  test.each([
    ['this replica', () => world.gateway],
    ['another replica', () => world.replica],
  ])(
    'and a second presentation at %s that finds it taken, and then given back, is served',
    async (_, second) => {
      const { address, payment, balance } = await newPayer()
      await call({ payment, chain: await world.gateway.chain(await getRefusingUrl()) })
      const taken = event()
      const answer = event()
      const upstream = await startUpstream(async (res) => {
        taken.resolve()
        await answer.promise
        res.socket?.resetAndDestroy()
      })
      const chain = await world.gateway.chain(upstream.url)
      const { ledger } = second()
      const { spend } = ledger
      // The second presentation has read that the payment is open; it spends once the first one is being served.
      ledger.spend = async (charge) => {
        ledger.spend = spend
        const first = call({ payment, chain }).then((served) => served)
        await taken.promise
        const spent = await spend(charge)
        answer.resolve()
        await first
        await until(async () => (await statesOf(address))[0]?.call_state === 'open')
        return spent
      }
      await call({ payment, at: second() }).expect(200)
      expect(await balance()).toBe(99n)
    },
  )

  test('while the world.replica that served it is dead, its outcome is pending, and then it serves', async () => {
    const { payment, address } = await newPayer()
    const chain = await world.gateway.chain((await startUpstream(answers.hang)).url)
    const dying = await testGateway({ beside: world.gateway })
    void call({ payment, chain, at: dying }).catch(() => undefined)
    await until(async () => (await statesOf(address))[0]?.call_state === 'reserved')
    expect(outcomeOf(await call({ payment }))).toEqual([503, 'PAYMENT_PENDING'])
    await world.gateway.pool.query(
      `WITH old AS (UPDATE reservations SET created_at = created_at - INTERVAL '1 hour' WHERE replica_id = $1)
       UPDATE replicas SET heartbeat_at = heartbeat_at - INTERVAL '1 hour' WHERE id = $1`,
      [dying.ledger.replicaId],
    )
    await world.gateway.ledger.refundOrphans()
    await call({ payment }).expect(200)
    expect(errorIn(await call({ payment }))).toEqual(USED)
  })
})

test('a settled payment whose plan has changed since serves its call, and is not asked for again', async () => {
  const { payment, balance } = await newPayer()
  await call({ payment, chain: await world.gateway.chain(await getRefusingUrl()) })
  await world.gateway.ledger.drain()
  world.gateway.catalog.plans[0] = planOf({ amount: '20000' })
  await world.gateway.reapply()
  await call({ payment }).expect(200)
  expect(errorIn(await call({ payment }))).toEqual(USED)
  world.gateway.catalog.plans[0] = planOf()
  await world.gateway.reapply()
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
    await call({ payment, chain: await world.gateway.chain(await getRefusingUrl()) })
    await world.gateway.ledger.drain()
    const before = world.gateway.catalog.plans.splice(0, Infinity, ...plans)
    await world.gateway.reapply()
    const calls = (count: number) => Array.from({ length: count }, (_entry, id) => ({ ...blockNumber, id }))
    const tooMany = await call({ payment, body: calls(101) }).expect(200)
    const [{ error }] = tooMany.body as [{ error: { message: string } }]
    expect(error.message).toContain('one payment of plan 1 buys 100;')
    const served = await call({ payment, body: calls(60) })
    expect([served.status, served.headers['x-credits-charged']]).toEqual([200, '60'])
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(40n)
    world.gateway.catalog.plans.splice(0, Infinity, ...before)
    await world.gateway.reapply()
  })
})

test('such a payment buys what its own plan sells, and is none of a network that it does not name', async () => {
  world.gateway.catalog.plans.push(planOf({ id: 7, amount: '20000', credits: 300 }))
  await world.gateway.reapply()
  const { signer, address } = world.gateway.wallet()
  const signed = await signPayment(signer, { payTo: planOf().pay_to, amount: '20000' })
  const chain = await world.gateway.chain(await getRefusingUrl())
  await call({ payment: paymentHeader(signed), chain })
  await world.gateway.ledger.drain()
  world.gateway.catalog.plans[1] = planOf({ id: 7, amount: '30000', credits: 300 })
  await world.gateway.reapply()
  const elsewhere = encodeJson({ ...x402(signed), network: 'base' })
  expect(errorIn(await call({ payment: elsewhere }))).toEqual([402, 'invalid_payment_requirements'])
  const body = Array.from({ length: 150 }, (_, id) => ({ ...blockNumber, id }))
  await call({ payment: paymentHeader(signed), body }).expect(200)
  expect(await balanceOf(world.gateway.ledger, address, 7)).toBe(150n)
  world.gateway.catalog.plans.pop()
  await world.gateway.reapply()
})

test('an outcome that is not known yet is 503, and a crash after the settlement is made good for the same header', async () => {
  const { payment, address, balance } = await newPayer()
  world.gateway.facilitator.next('lost')
  expect(outcomeOf(await call({ payment }))).toEqual([503, 'PAYMENT_PENDING'])
  await world.gateway.pool.query(
    "UPDATE payments SET next_attempt_at = now() - INTERVAL '1 second' WHERE payer = $1",
    [address],
  )
  await world.gateway.reconcile()
  expect(await balance()).toBe(100n)
  await call({ payment }).expect(200)
  expect(errorIn(await call({ payment }))).toEqual(USED)
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
    await call({ payment, from: '203.0.113.1', chain: await world.gateway.chain(await getRefusingUrl()) })
    await world.gateway.ledger.drain()
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
    world.gateway.facilitator.refuse('duplicate_settlement')
    expect(errorIn(await call({ payment }))).toEqual(USED)
    world.gateway.facilitator.refuse(undefined)
    expect(await balance()).toBe(0n)
    expect(await statesOf(address)).toMatchObject([{ status: 'failed' }])
  })
})

test('the books balance', async () => {
  await world.gateway.ledger.drain()
  await world.replica.ledger.drain()
  expect(await findViolations(world.gateway.pool)).toEqual([])
})

function event() {
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((fulfil) => (resolve = fulfil))
  return { promise, resolve }
}

async function until(condition: () => Promise<boolean>) {
  const deadline = performance.now() + 20_000
  while (!(await condition())) if (performance.now() > deadline) throw new Error('It did not happen')
}
