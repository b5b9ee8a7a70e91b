import { setTimeout } from 'node:timers/promises'
import { repeat } from './repeat'

test('does its work again and again, one round at a time, whatever fails', async () => {
  let rounds = 0
  let atOnce = 0
  const errors: unknown[] = []
  let enough: () => void = () => undefined
  const done = new Promise<void>((resolve) => (enough = resolve))
  const { stop } = repeat({
    everyMs: 1,
    async work() {
      expect(++atOnce).toBe(1)
      await new Promise(setImmediate)
      atOnce--
      if (++rounds === 4) enough()
      if (rounds === 2) throw new Error('second')
    },
    onError: (error) => errors.push(error),
  })
  await done
  await stop()
  expect(errors).toEqual([new Error('second')])
})

test('when stopped, waits for the round under way and begins none after it', async () => {
  let begun = 0
  let ended = 0
  const { stop } = repeat({
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
