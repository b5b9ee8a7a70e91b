import { createLogger } from '@tollgate/service'
import { readableLog } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { createCachedPart } from './cached-part'

const AN_HOUR_MS = 3_600_000

function part<T>(read: () => Promise<T>, { ttlMs = AN_HOUR_MS, timeoutMs = AN_HOUR_MS } = {}) {
  const log = readableLog()
  const logger = createLogger({ service: 'facilitator', level: 'debug', stream: log.stream })
  return { log, ask: createCachedPart({ name: 'nodes', read, ttlMs, timeoutMs, logger }) }
}

test('all callers share one read', async () => {
  let reads = 0
  const { ask } = part(() => Promise.resolve(++reads))
  const first = await Promise.all([ask(), ask()])
  expect([...first, await ask()]).toEqual(Array(3).fill({ value: 1, error: null }))
})

test('reads again after its time', async () => {
  let reads = 0
  const { ask } = part(() => Promise.resolve(++reads), { ttlMs: 1 })
  await ask()
  while ((await ask()).value === 1) await delay(1)
  expect(reads).toBeGreaterThan(1)
})

test('a failure is logged with its cause, and shown without it', async () => {
  const { ask, log } = part(() => Promise.reject(new Error('no route to db.internal')))
  expect(await ask()).toEqual({
    value: undefined,
    error: 'nodes could not be read; the log of this replica says why',
  })
  expect(await log.line('operator view read failed')).toMatchObject({
    view: 'nodes',
    error: { message: 'no route to db.internal' },
  })
})

test('does not wait for a read that hangs, starts no second one, and keeps what it returns late', async () => {
  let reads = 0
  let finish: (value: string) => void = () => undefined
  const hanging = () => {
    reads++
    return new Promise<string>((resolve) => (finish = resolve))
  }
  const { ask, log } = part(hanging, { timeoutMs: 10 })
  const late = { value: undefined, error: 'nodes could not be read within 10 ms' }
  expect([await ask(), await ask()]).toEqual([late, late])
  finish('late')
  expect(await log.line('operator view read slow')).toMatchObject({ view: 'nodes' })
  expect(await ask()).toEqual({ value: 'late', error: null })
  expect(reads).toBe(1)
})
