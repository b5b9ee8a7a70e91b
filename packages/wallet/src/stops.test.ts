import { getEventListeners } from 'node:events'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { assertNotStopped, pause, untilStopped } from './stops'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const never = () => new Promise<never>(() => undefined)
const stops = () => {
  const [closing, calling, timing] = [new AbortController(), new AbortController(), new AbortController()]
  const all = { closed: closing.signal, signal: calling.signal, timeout: timing.signal }
  return { all, controllers: { CLOSED: closing, ABORTED: calling, TIMEOUT: timing } }
}

describe.each(['CLOSED', 'ABORTED', 'TIMEOUT'] as const)('%s', (code) => {
  test('ends a wait that is under way, and its pause', async () => {
    const { all, controllers } = stops()
    const waits = [untilStopped(never, all), pause(2 ** 31 - 1, all)]
    controllers[code].abort()
    for (const wait of waits) await expect(wait).rejects.toMatchObject({ code })
  })

  test('keeps what has not begun from beginning', async () => {
    const { all, controllers } = stops()
    controllers[code].abort()
    const begin = jest.fn()
    await expect(untilStopped(begin, all)).rejects.toMatchObject({ code })
    expect(begin).not.toHaveBeenCalled()
    expect(() => assertNotStopped(all)).toThrow(expect.objectContaining({ code }) as Error)
  })

  test('does not hide a result that came before', async () => {
    const { all, controllers } = stops()
    const done = untilStopped(() => Promise.resolve('done'), all)
    await Promise.resolve()
    expect(await done).toBe('done')
    controllers[code].abort()
  })
})

test('work that fails, at once or later, fails the wait; what fails after it is ignored', async () => {
  const { all, controllers } = stops()
  const error = new Error('broken')
  const atOnce = () => {
    throw error
  }
  await expect(untilStopped(atOnce, all)).rejects.toBe(error)
  await expect(untilStopped(() => Promise.reject(error), all)).rejects.toBe(error)

  let fail: (reason: Error) => void = () => undefined
  const wait = untilStopped(() => new Promise((_, reject) => (fail = reject)), all)
  controllers.ABORTED.abort()
  await expect(wait).rejects.toMatchObject({ code: 'ABORTED' })
  fail(error)
})

test('a thousand waits for one signal need one listener, and all of them end', async () => {
  const { all, controllers } = stops()
  const waits = Array.from({ length: 1000 }, () => untilStopped(never, all))
  expect(getEventListeners(all.closed, 'abort')).toHaveLength(1)
  controllers.CLOSED.abort()
  const ended = await Promise.allSettled(waits)
  expect(ended.every(({ status }) => status === 'rejected')).toBe(true)
})

test('a wait that has ended keeps nothing of its result', async () => {
  const { all } = stops()
  let result: object | undefined = { large: true }
  const kept = new WeakRef(result)
  await untilStopped(() => result, all)
  result = undefined
  await new Promise(setImmediate)
  collectGarbage()
  expect(kept.deref()).toBeUndefined()
})

test('after `commit` nothing stops the wait', async () => {
  const { all, controllers } = stops()
  const wait = untilStopped(async (commit) => {
    commit()
    controllers.CLOSED.abort()
    await new Promise(setImmediate)
    return 'known'
  }, all)
  expect(await wait).toBe('known')
})
