import { type Spender } from './fee-allowance'
import { createGrantBudget, isWait, type UnusedGrants } from './grant-budget'

const shares = { clientKeyBps: 5_000, newUserBps: 10_000, newUsersBps: 10_000 }
/** A key may spend 50,000: 2,500 on grants of unproven payers that nothing has used, and 10,000 on all such grants. */
const DAILY_LIMIT = 100_000n
const COST = 100n

const spender = (changes: Partial<Spender> = {}): Spender => ({
  clientId: 'one',
  userId: 1,
  feeShareBps: null,
  userFeeShareBps: 10_000,
  maxFeesPerDay: null,
  ...changes,
})
const unused = (fees: bigint, changes: Partial<UnusedGrants> = {}): UnusedGrants => ({
  clientId: 'one',
  userId: 1,
  isGrant: true,
  isUnproven: false,
  isPending: false,
  payments: 50,
  fees,
  ...changes,
})
const toUnproven = { isUnproven: true }
const pending = { isPending: true }
const ofOther = { of: spender({ clientId: 'two', userId: 2 }) }
const ofCapped = { of: spender({ maxFeesPerDay: 300n }) }

type Expected = 'fits' | 'waits' | 'is refused'

describe('a grant', () => {
  test.each<[string, UnusedGrants, { isUnproven: boolean; isGrant?: boolean; of?: Spender }, Expected]>([
    ['to an unproven payer, up to the part', unused(2_400n, toUnproven), toUnproven, 'fits'],
    ['to one past what others wasted', unused(2_401n, toUnproven), toUnproven, 'is refused'],
    ['to one past what may still settle', unused(2_401n, { ...toUnproven, ...pending }), toUnproven, 'waits'],
    ['to a proven one, whatever others waste', unused(5_000n, toUnproven), { isUnproven: false }, 'fits'],
    ['to any payer of a key, past all waste', unused(9_901n), { isUnproven: false }, 'is refused'],
    ['to any payer of a key, past too many', unused(9_901n, pending), { isUnproven: false }, 'waits'],
    [
      'that is no grant but our signature, whatever grants were wasted',
      unused(DAILY_LIMIT, toUnproven),
      { ...toUnproven, isGrant: false },
      'fits',
    ],
    [
      'that is our signature, past such fees that were wasted',
      unused(2_401n, { ...toUnproven, isGrant: false }),
      { ...toUnproven, isGrant: false },
      'is refused',
    ],
    [
      'of another user, whatever one wastes',
      unused(DAILY_LIMIT, toUnproven),
      { ...toUnproven, ...ofOther },
      'fits',
    ],
    [
      'of a user, past what its other keys wasted',
      unused(4_901n, { ...toUnproven, clientId: 'x' }),
      toUnproven,
      'is refused',
    ],
    [
      'of a key with a small cap, for three payments',
      unused(290n, { ...toUnproven, payments: 2 }),
      { ...toUnproven, ...ofCapped },
      'fits',
    ],
    [
      'of a key with a small cap, after three',
      unused(290n, { ...toUnproven, payments: 3 }),
      { ...toUnproven, ...ofCapped },
      'is refused',
    ],
  ])('%s', (_, row, { isUnproven, isGrant = true, of = spender() }, expected) => {
    const problem = createGrantBudget(DAILY_LIMIT, shares, [row]).findProblem({
      spender: of,
      isGrant,
      isUnproven,
      cost: COST,
    })
    expect(problem === undefined ? 'fits' : isWait(problem) ? 'waits' : 'is refused').toBe(expected)
    if (expected === 'is refused') expect(problem).toMatchObject({ reason: 'fee_allowance_exceeded' })
  })

  test('counts at once for the ones after it, until it is given back', () => {
    const budget = createGrantBudget(DAILY_LIMIT, shares, [])
    const request = { spender: spender(), isGrant: true, isUnproven: true, cost: 1_000n }
    for (let taken = 0; taken < 3; taken++) budget.take(request)
    expect(budget.findProblem(request)).toMatchObject({ waitsFor: expect.any(String) as string })
    budget.giveBack(request)
    expect(budget.findProblem(request)).toBeUndefined()
  })
})
