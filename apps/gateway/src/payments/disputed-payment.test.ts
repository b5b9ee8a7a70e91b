import { decodeJson, SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { main } from '../cli/cli'
import { balanceOf, findViolations } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { mismatched } from '../testing/facilitator'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Other' }))
  await gateway.reapply()
})
afterEach(async () => {
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})
afterAll(closeAll)

const disputed = [409, 'PAYMENT_DISPUTED']

async function command(...args: string[]) {
  let [out, err] = ['', '']
  const code = await main(args, {
    environment: { DATABASE_URL: gateway.infrastructure.databaseUrl },
    out: (text) => (out += text),
    err: (text) => (err += text),
  })
  return { code, out, err }
}

const receiptOf = ({ headers }: { headers: Record<string, unknown> }) =>
  SettleResult.parse(decodeJson(String(headers['x-payment-response'])))

async function newDispute() {
  const wallet = gateway.wallet()
  const { call } = await wallet.signIn()
  const payment = await wallet.pay()
  gateway.facilitator.next('mismatch')
  const answer = await call({ payment })
  const { rows } = await gateway.pool.query<{ id: string }>('SELECT id FROM payments WHERE wallet = $1', [
    wallet.address,
  ])
  return { wallet, call, payment, answer, id: rows[0]?.id ?? '' }
}

describe('a payment that moved another amount than was signed', () => {
  test('is never answered with a 402, with or without its proof, and its receipt names the transaction', async () => {
    const { call, payment, answer, wallet } = await newDispute()
    expect(outcomeOf(answer)).toEqual(disputed)
    expect(JSON.stringify(answer.body)).not.toContain('nothing was charged')
    expect(receiptOf(answer)).toMatchObject({
      success: false,
      transaction: mismatched,
      errorReason: 'transfer_event_mismatch',
    })
    await gateway.pool.query("UPDATE payments SET created_at = now() - INTERVAL '1 day' WHERE wallet = $1", [
      wallet.address,
    ])
    const asked = gateway.facilitator.calls.length
    expect(outcomeOf(await call({ payment }))).toEqual(disputed)
    expect(outcomeOf(await call())).toEqual(disputed)
    await gateway.reconcile()
    expect(gateway.facilitator.calls).toHaveLength(asked)
  })

  test('stays disputed if it is sent again, on any plan', async () => {
    const { wallet, payment } = await newDispute()
    const other = await wallet.signIn({ pricing_plan_id: 2 })
    expect(outcomeOf(await other.call({ payment }))).toEqual(disputed)
  })

  test('lets its wallet spend its existing credits', async () => {
    const { call, wallet } = await newDispute()
    await gateway.fund(wallet.address, 1)
    expect((await call()).status).toBe(200)
    expect(outcomeOf(await call())).toEqual(disputed)
  })

  test('is credited once if an operator decides so', async () => {
    const { id, call, wallet } = await newDispute()
    expect((await command('payments', 'disputed')).out).toContain(`${id}  `)
    expect(await command('payments', 'credit', id)).toMatchObject({ code: 0 })
    expect(await command('payments', 'credit', id)).toMatchObject({ code: 1 })
    await gateway.reconcile()
    expect((await call()).status).toBe(200)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
  })

  test('is closed without credits if an operator decides so: its wallet may pay again', async () => {
    const { id, call, wallet, payment } = await newDispute()
    expect(await command('payments', 'close', id)).toMatchObject({ code: 0 })
    expect((await call()).status).toBe(402)
    const closed = await call({ payment })
    expect([closed.status, receiptOf(closed).transaction]).toEqual([402, mismatched])
    expect(JSON.stringify(closed.body)).not.toContain('nothing was charged')
    expect((await call({ payment: await wallet.pay() })).status).toBe(200)
  })

  test.each([
    ['payments'],
    ['payments', 'forgive', 'x'],
    ['payments', 'credit'],
    ['payments', 'credit', '1'],
  ])('is not changed by a command like %j %j %j', async (...args) => {
    const { code, err } = await command(...args)
    expect([code, err]).toEqual([2, expect.stringContaining('gateway payments disputed') as string])
  })
})

describe('a payment that was refused', () => {
  const age = (wallet: string, seconds: number) =>
    gateway.pool.query(
      'UPDATE payments SET updated_at = now() - make_interval(secs => $2), created_at = now() - make_interval(secs => $2 * 2) WHERE wallet = $1',
      [wallet, seconds],
    )
  const settleRequestsOf = (wallet: string) =>
    gateway.facilitator.calls.filter(({ request }) => JSON.stringify(request).includes(wallet))

  test('is retried once its cause may be gone, under a new idempotency key, and charged once', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.refuse('invalid_transaction_state')
    const refused = await call({ payment })
    gateway.facilitator.refuse(undefined)
    expect([refused.status, (await call({ payment })).status]).toEqual([402, 402])
    expect(settleRequestsOf(wallet.address)).toHaveLength(1)

    await age(wallet.address, 10)
    const answers = await Promise.all(Array.from({ length: 5 }, () => call({ payment })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    const [first, again, ...more] = settleRequestsOf(wallet.address)
    expect([again?.key, more]).toEqual([`${first?.key}.2`, []])
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(95n)
  })

  test("because the facilitator refuses this gateway's key is retried and not answered with a 402", async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.refuse('fee_allowance_exceeded')
    expect(outcomeOf(await call({ payment }))).toEqual([503, 'OVERLOADED'])
    gateway.facilitator.refuse(undefined)
    await age(wallet.address, 10)
    expect((await call({ payment })).status).toBe(200)
  })

  test('and whose payer has sent it in time is asked for once more after its end, for ten minutes', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const now = Math.floor(Date.now() / 1000)
    const ended = (secondsAgo: number) =>
      wallet.pay(undefined, { validAfter: String(now - 1_200), validBefore: String(now - secondsAgo) })
    const [lately, longAgo] = [await ended(30), await ended(630)]
    gateway.facilitator.refuse('payment_expired')
    for (const payment of [lately, longAgo]) expect((await call({ payment })).status).toBe(402)
    gateway.facilitator.refuse(undefined)
    expect((await call({ payment: lately })).status).toBe(402)
    await age(wallet.address, 10)
    gateway.facilitator.next('arrived')
    expect((await call({ payment: longAgo })).status).toBe(402)
    expect((await call({ payment: lately })).status).toBe(200)
    expect(settleRequestsOf(wallet.address)).toHaveLength(3)
    expect(await balanceOf(gateway.ledger, wallet.address)).toBe(99n)
  })

  test('is retried for ten minutes only, which is less than it counts as open', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay(undefined, {
      validBefore: String(Math.floor(Date.now() / 1000) + 3_600),
    })
    gateway.facilitator.refuse('insufficient_funds')
    await call({ payment })
    gateway.facilitator.refuse(undefined)
    await age(wallet.address, 330)
    expect((await call({ payment })).status).toBe(402)
    expect(settleRequestsOf(wallet.address)).toHaveLength(1)
  })

  test('and reopened is not failed by a late response to an earlier settle request', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.refuse('insufficient_funds')
    await call({ payment })
    gateway.facilitator.refuse(undefined)
    await age(wallet.address, 10)
    const { payments, settlements } = gateway
    const { rows } = await gateway.pool.query<{ id: string; attempts: number }>(
      'SELECT id, attempts FROM payments WHERE wallet = $1',
      [wallet.address],
    )
    const { id, attempts } = rows[0]!
    const refused = (await payments.find(id))!
    const reopening = { ...refused.request, validUntil: 9_999_999_999n, isCorrected: false }
    expect(
      await payments.reopen(refused, reopening, { presentedBy: undefined, identifier: undefined }),
    ).toBeDefined()
    const leased = await settlements.lease(id, 10)
    expect(leased).toMatchObject({ attempts: attempts + 1, hasNoOpenRequest: true })
    const late = { ...leased!, attempts }
    expect(await settlements.markRefused(late, { reason: 'insufficient_funds', detail: undefined })).toBe(
      false,
    )
    expect(await settlements.markRefused(leased!, { reason: 'insufficient_funds', detail: undefined })).toBe(
      true,
    )
  })

  test('is retried after twice the delay each time', async () => {
    const wallet = gateway.wallet()
    const { call } = await wallet.signIn()
    const payment = await wallet.pay()
    gateway.facilitator.refuse('insufficient_funds')
    await call({ payment })
    await age(wallet.address, 10)
    await call({ payment })
    await call({ payment })
    expect(settleRequestsOf(wallet.address)).toHaveLength(2)
    // It is twenty seconds old, so the next attempt is in twenty.
    await gateway.pool.query(
      "UPDATE payments SET updated_at = now() - INTERVAL '15 seconds', created_at = now() - INTERVAL '35 seconds' WHERE wallet = $1",
      [wallet.address],
    )
    await call({ payment })
    expect(settleRequestsOf(wallet.address)).toHaveLength(2)
    gateway.facilitator.refuse(undefined)
  })

  test.each(['invalid_exact_evm_payload_signature', 'duplicate_settlement'])(
    'stays refused for a permanent reason: %s',
    async (reason) => {
      const wallet = gateway.wallet()
      const { call } = await wallet.signIn()
      const payment = await wallet.pay()
      gateway.facilitator.refuse(reason)
      await call({ payment })
      gateway.facilitator.refuse(undefined)
      await age(wallet.address, 60)
      expect((await call({ payment })).status).toBe(402)
      expect(settleRequestsOf(wallet.address)).toHaveLength(1)
    },
  )
})
