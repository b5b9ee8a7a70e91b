import { type PaymentRequired } from '@tollgate/protocol'
import { planOf } from '../testing/catalog'
import { errorIn, receiptIn, payPerRequest, USED } from '../testing/pay-per-request'
import { checkedAt } from './checked-at'

const world = payPerRequest()
const { call, newPayer, statesOf } = world

const inSeconds = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds)

describe('a payment that was on chain before it was presented', () => {
  test('is credited to its payer without a sign-in, and serves no call, on any world.replica and for any client', async () => {
    const { address, payment, signIn, balance } = await newPayer()
    const before = world.gateway.facilitator.calls.length
    world.gateway.facilitator.next('arrived')
    for (const [at, from] of [
      [world.gateway, '10.0.0.1'],
      [world.replica, '10.0.0.1'],
      [world.gateway, '10.0.0.2'],
    ] as const) {
      const answer = await call({ payment, at, from })
      expect(errorIn(answer)).toEqual(USED)
      expect((answer.body as PaymentRequired).message).toMatch(/credited to its payer.*after a sign-in/)
      expect(receiptIn(answer)).toMatchObject({
        success: false,
        transaction: expect.stringMatching(/^0x/) as string,
      })
    }
    expect(world.gateway.facilitator.calls.length - before).toBe(1)
    expect(await statesOf(address)).toEqual([{ status: 'credited', call_state: null }])
    expect(await balance()).toBe(100n)

    const session = await signIn()
    await session.call().expect(200)
    await session.call({ payment }).expect(200)
    expect(await balance()).toBe(98n)
  })

  test('of many presentations at once serves none, and is credited once', async () => {
    const { payment, balance } = await newPayer()
    world.gateway.facilitator.next('arrived')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => call({ payment, at: n % 2 ? world.gateway : world.replica })),
    )
    for (const { status } of answers) expect([402, 503]).toContain(status)
    expect(errorIn(await call({ payment }))).toEqual(USED)
    expect(await balance()).toBe(100n)
  })

  test('buys credits in a session and serves the call, also by an authorization that has ended since', async () => {
    const wallet = world.gateway.wallet()
    const { call: rpc, buy } = await wallet.signIn()
    world.gateway.facilitator.next('arrived', 'arrived')
    const ended = await wallet.pay(planOf(), { validBefore: inSeconds(-30) })
    expect(receiptIn(await rpc({ payment: ended }).expect(200))).toMatchObject({ success: true })
    await rpc({ payment: ended }).expect(200)
    const bought = await buy(await wallet.pay(planOf()))
    expect(bought.status).toBe(200)
    await rpc().expect(200)
    await world.gateway.ledger.drain()
    expect(await rpc().then(({ headers }) => headers['x-credits-remaining'])).toBe('196')
  })
})

describe('the signed fields of a payment are checked', () => {
  const now = new Date('2026-11-28T12:00:00Z')
  const inSecond = (offset: number) => BigInt(now.getTime() / 1_000 + offset)
  test.each<[string, bigint | undefined, Date]>([
    ['now if it does not end', undefined, now],
    ['now while it is valid', inSecond(1), now],
    ['as of its last moment if it has just ended', inSecond(0), new Date(now.getTime() - 1)],
    ['as of its last moment within a day', inSecond(-86_000), new Date(now.getTime() - 86_000_001)],
    ['now if it ended longer ago', inSecond(-86_400), now],
    ['now if it ended in no year that a date can have', 0n, now],
  ])('%s', (_, validUntil, expected) => {
    expect(checkedAt(validUntil === undefined ? {} : { validUntil }, now)).toEqual(expected)
  })
})
