import { field, joined } from '../../testing/transaction'
import { type Allowance, isExpiring, readAllowance, covers } from './allowance'

const NOW = 1_800_000_000n
const clock = { blockTime: NOW, time: NOW }
const fee = [{ denom: 'uatom', amount: 5_000n }]
const kind = (name: string) => `/cosmos.feegrant.v1beta1.${name}`
const SEND = '/cosmos.bank.v1beta1.MsgSend'

type Packed = Parameters<typeof readAllowance>[0]

const text = (value: string) => Buffer.from(value)
const coin = (amount: string, denom = 'uatom') => joined(field(1, text(denom)), field(2, text(amount)))
const seconds = (value: bigint) => field(1, Number(value))

/** Fields as x/feegrant numbers them: spend limit 1, expiration 2. */
const basic = (coins: readonly Uint8Array[], expiresAt?: bigint): Packed => ({
  typeUrl: kind('BasicAllowance'),
  value: joined(
    ...coins.map((one) => field(1, one)),
    ...(expiresAt === undefined ? [] : [field(2, seconds(expiresAt))]),
  ),
})
/** Basic 1, period 2, period's limit 3, left of the period 4, next period 5. */
const periodic = ({ of = basic([]), each = ['5000'], left = ['5000'] } = {}): Packed => ({
  typeUrl: kind('PeriodicAllowance'),
  value: joined(
    field(1, of.value),
    field(2, seconds(3_600n)),
    ...each.map((amount) => field(3, coin(amount))),
    ...left.map((amount) => field(4, coin(amount))),
    field(5, seconds(NOW + 60n)),
  ),
})
const any = ({ typeUrl, value }: Packed) => joined(field(1, text(typeUrl)), field(2, value))
/** Allowance 1, allowed messages 2. */
const only = (of: Packed, messages: readonly string[] = [SEND]): Packed => ({
  typeUrl: kind('AllowedMsgAllowance'),
  value: joined(field(1, any(of)), ...messages.map((one) => field(2, text(one)))),
})

const allows = (packed: Packed, coins = fee): boolean => covers(readAllowance(packed), coins, clock)

test('an allowance is read from the bytes that a chain answers', () => {
  const value = '0a0d0a057561746f6d120435303030120608d084a8da06'
  expect(
    readAllowance({ typeUrl: kind('BasicAllowance'), value: Buffer.from(value, 'hex') }),
  ).toEqual<Allowance>({ limits: [new Map([['uatom', 5_000n]])], expiresAt: 1_800_012_368n })
})

describe('a basic allowance', () => {
  test('covers a fee up to its limit', () => {
    expect(allows(basic([coin('5000')]))).toBe(true)
    expect(allows(basic([coin('4999')]))).toBe(false)
    expect(allows(basic([coin('7', 'stake'), coin('5000')]))).toBe(true)
    expect(allows(basic([coin('5000', 'stake')]))).toBe(false)
  })

  test('covers each coin of a fee, or not the fee', () => {
    const two = [...fee, { denom: 'stake', amount: 1n }]
    expect(allows(basic([coin('5000')]), two)).toBe(false)
    expect(allows(basic([coin('1', 'stake'), coin('5000')]), two)).toBe(true)
  })

  test('covers any fee where it names no coins', () => expect(allows(basic([]))).toBe(true))

  test('is not counted on for the last half minute of its time', () => {
    expect(allows(basic([], NOW + 31n))).toBe(true)
    for (const expiresAt of [NOW + 30n, NOW, NOW - 1n, 0n]) expect(allows(basic([], expiresAt))).toBe(false)
  })
})

describe('a periodic allowance', () => {
  test('covers a fee that is left of this period, fits the next, and all of them', () => {
    expect(allows(periodic())).toBe(true)
    expect(allows(periodic({ of: basic([coin('5000')], NOW + 600n) }))).toBe(true)
  })

  test('covers none that one of these does not', () => {
    expect(allows(periodic({ left: ['4999'] }))).toBe(false)
    expect(allows(periodic({ left: [] }))).toBe(false)
    expect(allows(periodic({ each: ['4999'] }))).toBe(false)
    expect(allows(periodic({ of: basic([coin('4999')]) }))).toBe(false)
    expect(allows(periodic({ of: basic([], NOW) }))).toBe(false)
  })
})

describe('an allowance for some messages', () => {
  test('covers a bank send where it names it, as far as the allowance within it does', () => {
    expect(allows(only(basic([coin('5000')])))).toBe(true)
    expect(allows(only(periodic(), ['/cosmos.gov.v1.MsgVote', SEND]))).toBe(true)
    expect(allows(only(basic([coin('4999')])))).toBe(false)
    expect(allows(only(basic([], NOW)))).toBe(false)
  })

  test('covers none where it does not name it', () => {
    for (const messages of [[], ['/cosmos.gov.v1.MsgVote'], [`${SEND}2`], ['cosmos.bank.v1beta1.MsgSend']])
      expect(allows(only(basic([]), messages))).toBe(false)
  })

  test('within another allows what both do', () => {
    expect(allows(only(only(basic([]))))).toBe(true)
    expect(allows(only(only(basic([]), ['/cosmos.gov.v1.MsgVote'])))).toBe(false)
    expect(allows(only(only(basic([])), ['/cosmos.gov.v1.MsgVote']))).toBe(false)
  })
})

test('what cannot be read allows nothing', () => {
  let deep = basic([])
  for (let depth = 0; depth < 50; depth++) deep = only(deep)
  const unreadable: Packed[] = [
    { typeUrl: '/cosmos.feegrant.v1beta1.ContractsAllowance', value: basic([]).value },
    { typeUrl: '', value: new Uint8Array() },
    { typeUrl: kind('AllowedMsgAllowance'), value: field(2, text(SEND)) },
    { typeUrl: kind('BasicAllowance'), value: Uint8Array.of(0x0a, 0xff) },
    basic([coin('-1')]),
    basic([coin('5000.5')]),
    basic([field(1, text('uatom'))]),
    deep,
  ]
  for (const packed of unreadable) expect(allows(packed)).toBe(false)
})

test('an allowance is about to lapse from half a minute before its end until a block is past that', () => {
  const lapsing = (expiresAt: bigint, blockTime = NOW, time = blockTime) =>
    isExpiring(readAllowance(basic([], expiresAt)), { blockTime, time })
  expect([31n, 30n, 1n, 0n, -1n].map((seconds) => lapsing(NOW + seconds))).toEqual([
    false,
    true,
    true,
    true,
    false,
  ])
  // Of a chain that stands still.
  expect(lapsing(NOW + 60n, NOW, NOW + 3_600n)).toBe(true)
  expect(isExpiring(readAllowance(basic([coin('1')])), clock)).toBe(false)
})
