import {
  feeSharesByClient,
  createFeeLedger,
  isLimited,
  splitMaxFee,
  type Spender,
  type Spent,
} from './fee-allowance'

const shares = { clientKeyBps: 5_000, newUserBps: 100, newUsersBps: 1_000 }
const DAILY_LIMIT = 10_000n

const spender = (changes: Partial<Spender> = {}): Spender => ({
  clientId: 'one',
  userId: 1,
  feeShareBps: null,
  userFeeShareBps: null,
  maxFeesPerDay: null,
  ...changes,
})
const spent = (changes: Partial<Spent> = {}): Spent => ({
  clientId: 'one',
  userId: 1,
  isNew: true,
  fees: 0n,
  cheapest: 1n,
  ...changes,
})
const trusted = { userFeeShareBps: 10_000 }

describe('a share of the fees', () => {
  test.each<[string, Spender, Spent[], bigint, RegExp | undefined]>([
    ['a new user, up to its share', spender(), [], 100n, undefined],
    ['a new user, past its share', spender(), [], 101n, /^user 1 has used 0 of the 100 /],
    ['with what it spent before', spender(), [spent({ fees: 99n })], 2n, /^user 1 has used 99 of the 100 /],
    ['by another key', spender(), [spent({ clientId: 'two', fees: 99n })], 2n, /^user 1 /],
    [
      'what others spent does not count',
      spender(),
      [spent({ clientId: 'x', userId: 2, fees: 99n })],
      100n,
      undefined,
    ],
    [
      'all new users together',
      spender(),
      Array.from({ length: 10 }, (_, n) => spent({ clientId: `${n}`, userId: 9 + n, fees: 100n })),
      1n,
      /^all new users together/,
    ],
    [
      'users that an operator decided on are not among the new ones',
      spender({ userFeeShareBps: 200 }),
      Array.from({ length: 10 }, (_, n) => spent({ clientId: `${n}`, userId: 9 + n, fees: 100n })),
      200n,
      undefined,
    ],
    [
      'a key, past its share',
      spender(trusted),
      [spent({ isNew: false, fees: 5_000n })],
      1n,
      /^the client key one /,
    ],
    [
      'another key of that user',
      spender({ ...trusted, clientId: 'two' }),
      [spent({ isNew: false, fees: 5_000n })],
      5_000n,
      undefined,
    ],
    [
      'one with all of it, whatever it costs',
      spender({ ...trusted, feeShareBps: 10_000 }),
      [spent({ fees: 9_999n })],
      2n,
      undefined,
    ],
    ['one with nothing', spender({ userFeeShareBps: 0 }), [], 1n, /^user 1 has used 0 of the 0 /],
  ])('%s', (_, of, before, cost, problem) => {
    const refusal = createFeeLedger(DAILY_LIMIT, shares, before).findRefusal(of, cost)
    if (problem === undefined) expect(refusal).toBeUndefined()
    else
      expect(refusal).toEqual({
        reason: 'fee_allowance_exceeded',
        detail: expect.stringMatching(problem) as string,
      })
  })

  test('is used up once not even the cheapest payment of the day fits, and never by a price alone', () => {
    const isUsedUp = (fees: bigint, cheapest: bigint) =>
      createFeeLedger(DAILY_LIMIT, shares, [spent({ fees, cheapest })]).findUsedUpRefusal(spender()) !==
      undefined
    expect([isUsedUp(100n, 1n), isUsedUp(90n, 11n), isUsedUp(90n, 10n), isUsedUp(0n, 1_000n)]).toEqual([
      true,
      true,
      false,
      false,
    ])
  })

  test('does not limit a user and key with a share of 100 %', () => {
    expect(isLimited(spender({ ...trusted, feeShareBps: 10_000 }), DAILY_LIMIT, shares)).toBe(false)
    expect(isLimited(spender(trusted), DAILY_LIMIT, shares)).toBe(true)
  })
})

describe('a cap of a client key', () => {
  const capped = spender({ ...trusted, feeShareBps: 10_000, maxFeesPerDay: 30n })
  const refusalOf = (dailyLimit: bigint | undefined, of: Spender, cost: bigint) =>
    createFeeLedger(dailyLimit, shares, [spent({ isNew: false, fees: 20n })]).findRefusal(of, cost)?.reason

  test.each([
    ['with a daily fee limit', DAILY_LIMIT],
    ['without one', undefined],
  ])('limits its fees and those of no other key, %s', (_, dailyLimit) => {
    expect(isLimited(capped, dailyLimit, shares)).toBe(true)
    expect(refusalOf(dailyLimit, capped, 10n)).toBeUndefined()
    expect(refusalOf(dailyLimit, capped, 11n)).toBe('fee_allowance_exceeded')
    expect(refusalOf(dailyLimit, { ...capped, clientId: 'two' }, 30n)).toBeUndefined()
    expect(refusalOf(dailyLimit, { ...capped, clientId: 'two', maxFeesPerDay: null }, 4_000n)).toBeUndefined()
  })

  test('never raises the share of its key or user', () => {
    expect(refusalOf(DAILY_LIMIT, spender({ maxFeesPerDay: DAILY_LIMIT }), 81n)).toBe(
      'fee_allowance_exceeded',
    )
    expect(refusalOf(100n, spender({ ...trusted, maxFeesPerDay: 100n }), 31n)).toBe('fee_allowance_exceeded')
  })

  test('of zero is used up from the start', () => {
    const none = spender({ ...trusted, maxFeesPerDay: 0n })
    expect(createFeeLedger(undefined, shares, []).findUsedUpRefusal(none)).toBeDefined()
  })
})

test('a payment bears what is allowed for it alone, and an equal part of the rest; together at least the cost', () => {
  const partsOf = (batch: { sponsorship?: { fee: bigint } }[], maxFee: bigint) =>
    splitMaxFee(batch, maxFee).map(({ part }) => part)
  expect(partsOf([{}, {}, {}], 10n)).toEqual([4n, 4n, 4n])
  expect(partsOf([{ sponsorship: { fee: 70n } }, { sponsorship: { fee: 10n } }], 100n)).toEqual([80n, 20n])
  expect(
    feeSharesByClient([
      { clientId: 'a', part: 4n },
      { clientId: 'b', part: 4n },
      { clientId: 'a', part: 3n },
    ]),
  ).toEqual([
    { clientId: 'a', payments: 2, part: 7n },
    { clientId: 'b', payments: 1, part: 4n },
  ])
})
