import { openCallers, COUNTED_CHAIN, type Answer, type Callers } from './testing/callers'
import { applyCatalog } from './testing/catalog'
import { expectPaidOnce, expectUsed } from './testing/expect-payment'
import { killGateway } from './testing/kill-gateway'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { call, signFor, until } from './testing/paying'
import { plainUrl, postJson } from './testing/plain-calls'
import { openUnreadPost } from './testing/unread-post'
import { startCountingUpstream, type AnswerMode, type CountingUpstream } from './testing/upstream'
import { signIn } from './testing/world'

let world: ObservedWorld
let upstream: CountingUpstream

beforeAll(async () => {
  world = await startObservedWorld()
  upstream = await startCountingUpstream()
  await applyCatalog(world, { plans: [], upstreamUrl: upstream.url })
  await until(
    async () => (await fetch(plainUrl(world, COUNTED_CHAIN))).status,
    (status) => status === 402,
  )
}, 120_000)

afterAll(async () => {
  upstream.stop()
  await world.stop()
}, 30_000)

const callOf = (id: string, answerMode: AnswerMode = 'answer') => ({
  jsonrpc: '2.0',
  id,
  method: answerMode,
  params: [],
})

type Payer = Awaited<ReturnType<typeof newPayer>>

/** A new wallet without a session, and the payment that it signed for the plan. */
async function newPayer() {
  const wallet = await world.newPayer()
  const { address } = wallet
  const url = plainUrl(world, COUNTED_CHAIN)
  const payment = await signFor(url, wallet, world.plan)
  const send = (answerMode?: AnswerMode) =>
    postJson(url, callOf(`${address}/call`, answerMode), { 'x-payment': payment })
  /** Sends the payment again until the call has an outcome. */
  const served = async () => {
    const answer = await until(
      () => send(),
      ({ status }) => status !== 503,
      60,
    )
    expect([answer.status, await answer.json()]).toEqual([
      200,
      { jsonrpc: '2.0', id: `${address}/call`, result: '0x1' },
    ])
  }
  return { wallet, address, payment, send, served }
}

/** One transfer, one grant, one call paid from it, and a payment that serves no other call. */
async function expectServedOnce({ address, payment }: Payer) {
  const [url, json] = [plainUrl(world, COUNTED_CHAIN), callOf(`${address}/call`)]
  await expectUsed(world, { url, json, payment: { 'x-payment': payment } })
  await expectPaidOnce(world, address)
  expect(await world.ledger.broken()).toEqual([])
}

const asked = (address: string) => upstream.asked.get(`${address}/call`) ?? 0

describe('kill -9 of the gateway: the same payment is served by the next process, settled once and granted once', () => {
  const paymentOf = async (address: string) => (await world.ledger.payments(address))[0]

  test('after the payment is stored, before the facilitator has answered', async () => {
    const payer = await newPayer()
    process.kill(world.facilitator.pid(), 'SIGSTOP')
    const cut = payer.send().catch(() => 'cut off')
    try {
      await until(
        () => paymentOf(payer.address),
        (payment) => payment?.status === 'settling',
      )
      await killGateway(world)
    } finally {
      process.kill(world.facilitator.pid(), 'SIGCONT')
    }
    expect(await cut).toBe('cut off')
    await payer.served()
    expect(asked(payer.address)).toBe(1)
    await expectServedOnce(payer)
  })

  test('after the settlement, before its credits are granted', async () => {
    const payer = await newPayer()
    let cut: Promise<unknown> | undefined
    await world.ledger.whileLocked({ text: 'LOCK TABLE grants IN SHARE MODE' }, async () => {
      cut = payer.send().catch(() => 'cut off')
      await until(
        () => paymentOf(payer.address),
        (payment) => payment?.status === 'settled',
      )
      await until(world.ledger.waiting, (waiting) => waiting > 0)
      await killGateway(world)
    })
    expect(await cut).toBe('cut off')
    await payer.served()
    expect(asked(payer.address)).toBe(1)
    await expectServedOnce(payer)
  })

  test('between the spend and the answer', async () => {
    const payer = await newPayer()
    const cut = payer.send('answer_held').catch(() => 'cut off')
    await until(
      () => Promise.resolve(asked(payer.address)),
      (calls) => calls === 1,
    )
    expect(await world.ledger.balance(payer.address)).toBe(BigInt(world.plan.credits - 1))
    await killGateway(world)
    expect(await cut).toBe('cut off')
    const pending = await payer.send()
    expect([pending.status, await pending.json()]).toMatchObject([503, { code: 'PAYMENT_PENDING' }])
    await payer.served()
    expect(asked(payer.address)).toBe(2)
    await expectServedOnce(payer)
    upstream.release()
  })

  test('between the answer and its record', async () => {
    const payer = await newPayer()
    const answering = payer.send('answer_held')
    await until(
      () => Promise.resolve(asked(payer.address)),
      (calls) => calls === 1,
    )
    await world.ledger.whileLocked({ text: 'LOCK TABLE usage IN SHARE MODE' }, async () => {
      upstream.release()
      expect((await answering).status).toBe(200)
      await until(world.ledger.waiting, (waiting) => waiting > 0)
      // Postgres would execute the statement of the killed process once the lock is free.
      await killGateway(world, world.ledger.endWaiting)
    })
    await payer.served()
    expect(asked(payer.address)).toBe(2)
    await expectServedOnce(payer)
  })
})

describe('kill -9 of the gateway between the record of an answer and its read by the client', () => {
  test.each<[string, AnswerMode]>([
    ['written', 'answer'],
    ['half written', 'answer_long'],
  ])('once it is %s: the payment is used, and its other credits are the payer’s', async (_, mode) => {
    const payer = await newPayer()
    const { address, payment } = payer
    const url = plainUrl(world, COUNTED_CHAIN)
    const unread = openUnreadPost(url, callOf(`${address}/call`, mode), { 'x-payment': payment })
    await until(
      () =>
        world.ledger.rows<{ call_state: string }>('SELECT call_state FROM payments WHERE payer = $1', [
          address,
        ]),
      ([row]) => row?.call_state === 'served',
    )
    await killGateway(world)
    unread.destroy()
    await expectServedOnce(payer)
    expect(asked(address)).toBe(1)

    const spent = await call(world, await signIn(world, payer.wallet))
    expect([spent.status, spent.headers.get('x-credits-remaining')]).toEqual([200, '98'])
  })
})

describe('on two gateway processes', () => {
  let callers: Callers | undefined
  afterEach(() => callers?.close())

  const tally = (answers: readonly Answer[]) =>
    answers.map(({ status, body }) => [status, body['error'] ?? body['code']])

  test('one payment in a hundred concurrent calls serves one, and is settled once', async () => {
    const second = await world.addGateway()
    const payer = await newPayer()
    const { address, payment } = payer
    const opened = openCallers([world.gateway.url, second.url], 100)
    callers = opened
    await opened.warmUp()

    let answers: Promise<Answer[]> = Promise.resolve([])
    // All requests arrive before the payment of any is granted.
    await world.ledger.whileLocked({ text: 'LOCK TABLE grants IN SHARE MODE' }, async () => {
      answers = Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          opened.post(i, `/v1/${COUNTED_CHAIN}`, { body: callOf(`${address}/${i}`), payment }),
        ),
      )
      await until(world.ledger.waiting, (waiting) => waiting > 0)
      await Promise.all([world.gateway, second].map(({ url }) => fetch(`${url}/health`)))
    })
    const outcomes = tally(await answers)
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1)
    const others = outcomes.filter(([status]) => status !== 200)
    for (const outcome of others)
      expect([
        [402, 'duplicate_settlement'],
        [503, 'PAYMENT_PENDING'],
      ]).toContainEqual(outcome)
    const served = `${address}/${outcomes.findIndex(([status]) => status === 200)}`
    expect([...upstream.asked].filter(([id]) => id.startsWith(address))).toEqual([[served, 1]])
    await expectServedOnce(payer)
    await second.stop()
  })
})
