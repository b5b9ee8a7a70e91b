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
  let ended = 0
  let finish: () => void = () => undefined
  const { stop } = repeat({
    everyMs: 0,
    async work() {
      await new Promise<void>((resolve) => (finish = resolve))
      ended++
    },
    onError: () => undefined,
  })
  const stopped = stop()
  finish()
  await stopped
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(ended).toBe(1)
})
