import { fundWallet } from '@tollgate/devnet'
import { type PaymentChoice } from '@tollgate/protocol'
import { Wallet } from 'ethers'
import { openCallers, COUNTED_CHAIN, type Answer, type Callers } from './testing/callers'
import { applyCatalog } from './testing/catalog'
import { tokenAt } from './testing/chain'
import { openLedgerQueries, type LedgerQueries } from './testing/ledger-queries'
import { sign, until } from './testing/paying'
import { plainUrl, postJson } from './testing/plain-calls'
import { startCountingUpstream, type AnswerMode, type CountingUpstream } from './testing/upstream'
import { startWorld, type World } from './testing/world'

const BUDGET = 1_000_000n

let world: World
let upstream: CountingUpstream
let ledger: LedgerQueries
let token: ReturnType<typeof tokenAt>

beforeAll(async () => {
  world = await startWorld()
  upstream = await startCountingUpstream()
  ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
  token = tokenAt(world.infrastructure.rpcUrl)
  await applyCatalog(world, { plans: [], upstreamUrl: upstream.url })
  await until(
    async () => (await fetch(plainUrl(world, COUNTED_CHAIN))).status,
    (status) => status === 402,
  )
}, 120_000)

afterAll(async () => {
  token.close()
  await ledger.close()
  upstream.stop()
  await world.stop()
}, 30_000)

const callOf = (id: string, answerMode: AnswerMode = 'answer') => ({
  jsonrpc: '2.0',
  id,
  method: answerMode,
  params: [],
})

/** A new wallet without a session, and the payment that it signed for the plan. */
async function newPayer() {
  const wallet = Wallet.createRandom()
  const { address } = wallet
  await fundWallet(world.infrastructure.rpcUrl, address, { usdc: BUDGET })
  const { accepts } = (await (await fetch(plainUrl(world, COUNTED_CHAIN))).json()) as PaymentChoice
  const payment = await sign(wallet, {
    accepts,
    paymentRequirements: { network: world.plan.chain_id },
  })
  const send = (answerMode?: AnswerMode) =>
    postJson(plainUrl(world, COUNTED_CHAIN), callOf(`${address}/call`, answerMode), { 'x-payment': payment })
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
  return { address, payment, send, served }
}

/** One transfer, one grant, one call paid from it, and a payment that serves no other call. */
async function expectPaidOnce({ address, send }: Awaited<ReturnType<typeof newPayer>>) {
  const { amount, credits, pay_to } = world.plan
  await ledger.settled(30)
  const again = await send()
  expect([again.status, await again.json()]).toMatchObject([402, { error: 'duplicate_settlement' }])

  const [paid, ...more] = await ledger.payments(address)
  expect([paid, more]).toMatchObject([{ status: 'credited', grants: 1n }, []])
  expect(await token.transfersOf(paid?.transaction ?? '', address)).toEqual([
    { from: address, to: pay_to, value: BigInt(amount) },
  ])
  expect((await token.authorizationsTo(pay_to)).filter(({ payer }) => payer === address)).toHaveLength(1)
  expect(await token.balanceOf(address)).toBe(BUDGET - BigInt(amount))
  expect(await ledger.balance(address)).toBe(BigInt(credits - 1))
  expect(await ledger.broken()).toEqual([])
}

const asked = (address: string) => upstream.asked.get(`${address}/call`) ?? 0

describe('kill -9 of the gateway: the same payment is served by the next process, settled once and granted once', () => {
  /** Kills the gateway, and resolves when the next process serves. */
  async function kill() {
    const pid = world.gateway.pid()
    process.kill(pid, 'SIGKILL')
    await until(
      () => Promise.resolve(world.gateway.pid()),
      (now) => now !== pid,
    )
  }
  const paymentOf = async (address: string) => (await ledger.payments(address))[0]

  test('after the payment is stored, before the facilitator has answered', async () => {
    const payer = await newPayer()
    process.kill(world.facilitator.pid(), 'SIGSTOP')
    const cut = payer.send().catch(() => 'cut off')
    try {
      await until(
        () => paymentOf(payer.address),
        (payment) => payment?.status === 'settling',
      )
      await kill()
    } finally {
      process.kill(world.facilitator.pid(), 'SIGCONT')
    }
    expect(await cut).toBe('cut off')
    await payer.served()
    expect(asked(payer.address)).toBe(1)
    await expectPaidOnce(payer)
  })

  test('after the settlement, before its credits are granted', async () => {
    const payer = await newPayer()
    let cut: Promise<unknown> | undefined
    await ledger.whileLocked({ text: 'LOCK TABLE grants IN SHARE MODE' }, async () => {
      cut = payer.send().catch(() => 'cut off')
      await until(
        () => paymentOf(payer.address),
        (payment) => payment?.status === 'settled',
      )
      await until(ledger.waiting, (waiting) => waiting > 0)
      await kill()
    })
    expect(await cut).toBe('cut off')
    await payer.served()
    expect(asked(payer.address)).toBe(1)
    await expectPaidOnce(payer)
  })

  test('between the spend and the answer', async () => {
    const payer = await newPayer()
    const cut = payer.send('answer_held').catch(() => 'cut off')
    await until(
      () => Promise.resolve(asked(payer.address)),
      (calls) => calls === 1,
    )
    expect(await ledger.balance(payer.address)).toBe(BigInt(world.plan.credits - 1))
    await kill()
    expect(await cut).toBe('cut off')
    const pending = await payer.send()
    expect([pending.status, await pending.json()]).toMatchObject([503, { code: 'PAYMENT_PENDING' }])
    await payer.served()
    expect(asked(payer.address)).toBe(2)
    await expectPaidOnce(payer)
    upstream.release()
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
    await ledger.whileLocked({ text: 'LOCK TABLE grants IN SHARE MODE' }, async () => {
      answers = Promise.all(
        Array.from({ length: 100 }, (_, i) =>
          opened.post(i, `/v1/${COUNTED_CHAIN}`, { body: callOf(`${address}/${i}`), payment }),
        ),
      )
      await until(ledger.waiting, (waiting) => waiting > 0)
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
    await expectPaidOnce(payer)
    await second.stop()
  })
})
