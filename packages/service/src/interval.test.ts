import { setTimeout } from 'node:timers/promises'
import { startInterval } from './interval'

test('repeats its work, one run at a time, even after errors', async () => {
  let runs = 0
  let concurrent = 0
  const errors: unknown[] = []
  let finish: () => void = () => undefined
  const done = new Promise<void>((resolve) => (finish = resolve))
  const { stop } = startInterval({
    everyMs: 1,
    async work() {
      expect(++concurrent).toBe(1)
      await new Promise(setImmediate)
      concurrent--
      if (++runs === 4) finish()
      if (runs === 2) throw new Error('second')
    },
    onError: (error) => errors.push(error),
  })
  await done
  await stop()
  expect(errors).toEqual([new Error('second')])
})

test('waits for the current run when stopped, and starts no further one', async () => {
  let begun = 0
  let ended = 0
  const { stop } = startInterval({
    everyMs: 0,
    async work() {
      begun++
      await setTimeout(20)
      ended++
    },
    onError: () => undefined,
  })
  await stop()
  expect([begun, ended]).toEqual([1, 1])
  await setTimeout(20)
  expect(begun).toBe(1)
})
