import { setImmediate as nextTurn } from 'node:timers/promises'
import { createPointsInAdvance } from './points-in-advance'

const WINDOW_MS = 60_000

/** A counter with a window, as Redis holds it for all replicas. */
function sharedCounter(points: number) {
  let clockMs = 0
  let window = 0
  let used = 0
  let requests = 0
  const take = async (_key: string, cost: number) => {
    requests++
    await nextTurn()
    if (Math.floor(clockMs / WINDOW_MS) > window) {
      window = Math.floor(clockMs / WINDOW_MS)
      used = 0
    }
    used += cost
    const state = { remainingPoints: points - used, msBeforeNext: (window + 1) * WINDOW_MS - clockMs }
    if (state.remainingPoints < 0) throw new Error('exceeded')
    return state
  }
  return {
    replica: () => createPointsInAdvance(take, () => clockMs),
    pass: (ms: number) => void (clockMs += ms),
    requests: () => requests,
  }
}
type Replica = ReturnType<ReturnType<typeof sharedCounter>['replica']>

async function callsUntilRefused(replica: Replica, key = 'wallet') {
  for (let calls = 0; ; calls++) {
    try {
      await replica.useOrTake(key, 1)
    } catch {
      return calls
    }
  }
}

const total = (counts: number[]) => counts.reduce((sum, count) => sum + count, 0)

test.each([1, 2, 5])(
  '%d replicas together allow at most the limit, and almost all of it',
  async (replicas) => {
    const counter = sharedCounter(6_000)
    const callers = Array.from({ length: replicas }, () => counter.replica())
    const calls = await Promise.all(
      callers.flatMap((replica) => Array.from({ length: 8 }, () => callsUntilRefused(replica))),
    )
    expect(total(calls)).toBeLessThanOrEqual(6_000)
    expect(total(calls)).toBeGreaterThan(5_700)
  },
)

test('asks the shared counter for few of the calls of a busy key', async () => {
  const counter = sharedCounter(6_000)
  const replica = counter.replica()
  for (let call = 0; call < 5_000; call++) await replica.useOrTake('wallet', 1)
  expect(counter.requests()).toBeLessThan(100)
})

test('reports the points that remain, and takes nothing in advance for a small limit', async () => {
  const counter = sharedCounter(3)
  const replica = counter.replica()
  const left: number[] = []
  for (let call = 0; call < 3; call++) left.push((await replica.useOrTake('wallet', 1)).remainingPoints)
  expect(left).toEqual([2, 1, 0])
  await expect(replica.useOrTake('wallet', 1)).rejects.toThrow('exceeded')
})

test('reports one point less for each call of a busy key', async () => {
  const replica = sharedCounter(1_000).replica()
  for (let call = 1; call <= 900; call++)
    expect((await replica.useOrTake('wallet', 1)).remainingPoints).toBe(1_000 - call)
})

test('holds no more unused points than the key has used', async () => {
  const counter = sharedCounter(100_000)
  const [busy, other] = [counter.replica(), counter.replica()]
  for (let call = 1; call <= 50; call++) await busy.useOrTake('wallet', 1)
  const { remainingPoints } = await other.useOrTake('wallet', 1)
  expect(100_000 - remainingPoints).toBeLessThanOrEqual(2 * 50 + 1)
})

test('points taken in advance end with their window', async () => {
  const counter = sharedCounter(100)
  const replica = counter.replica()
  for (let call = 0; call < 20; call++) await replica.useOrTake('wallet', 1)
  counter.pass(WINDOW_MS)
  expect(replica.use('wallet', 1)).toBeUndefined()
  expect(await callsUntilRefused(replica)).toBeLessThanOrEqual(100)
})

test('goes on after the shared counter failed', async () => {
  let isDown = false
  const take = () =>
    isDown
      ? Promise.reject(new Error('down'))
      : Promise.resolve({ remainingPoints: 1_000, msBeforeNext: WINDOW_MS })
  const replica = createPointsInAdvance(take, () => 0)
  await replica.useOrTake('wallet', 1)
  isDown = true
  const calls = [1, 2, 3].map(() => replica.useOrTake('wallet', 1))
  expect((await Promise.allSettled(calls)).map(({ status }) => status)).toEqual([
    'rejected',
    'rejected',
    'rejected',
  ])
  isDown = false
  expect((await replica.useOrTake('wallet', 1)).remainingPoints).toBeGreaterThan(0)
})

test('after a failure of the shared counter, the calls that waited ask it all at once', async () => {
  let isFailing = false
  let underWay = 0
  let mostAtOnce = 0
  const replica = createPointsInAdvance(
    async () => {
      if (!isFailing) return { remainingPoints: 1_000, msBeforeNext: WINDOW_MS }
      mostAtOnce = Math.max(mostAtOnce, ++underWay)
      await nextTurn()
      underWay--
      throw new Error('down')
    },
    () => 0,
  )
  await replica.useOrTake('wallet', 1)
  isFailing = true
  await Promise.allSettled(Array.from({ length: 400 }, () => replica.useOrTake('wallet', 1)))
  expect(mostAtOnce).toBe(399)
})

test('uses no point after its window, if the answer of the counter was late', async () => {
  let clockMs = 0
  let takes = 0
  const replica = createPointsInAdvance(
    async () => {
      takes++
      // The counter answers at once, with a second left of its window; the answer is read two seconds later.
      await nextTurn()
      if (takes === 2) clockMs += 2_000
      return { remainingPoints: 1000, msBeforeNext: takes === 1 ? WINDOW_MS : 1_000 }
    },
    () => clockMs,
  )
  await replica.useOrTake('wallet', 1)
  await replica.useOrTake('wallet', 1)
  expect(replica.use('wallet', 1)).toBeUndefined()
})
