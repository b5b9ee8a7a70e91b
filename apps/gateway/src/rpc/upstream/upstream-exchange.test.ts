import { closeAll, closeLater } from '@tollgate/testing'
import { once } from 'node:events'
import { type Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent } from 'undici'
import { answers, startUpstream, type Answer } from '../../testing/upstream'
import { exchange, type Caller } from './upstream-exchange'
import { createConnectionLimiter } from './connection-limiter'

afterAll(closeAll)

const LARGE = 300_000

function agent(connections: number) {
  const dispatcher = new Agent({ connections, headersTimeout: 0, bodyTimeout: 0 })
  closeLater(() => dispatcher.destroy())
  return dispatcher
}

function ask(
  origin: string,
  timeoutMs: number,
  { dispatcher = agent(1), caller = new AbortController() } = {},
) {
  const request = { origin, path: '/', method: 'POST', body: '{}' } as const
  const slot = slotAt(origin, 'wallet')
  return exchange(dispatcher, request, { timeoutMs, caller: callerOf(caller.signal), slot })
}

const callerOf = (signal: AbortSignal): Caller => ({
  hasLeft: () => signal.aborted,
  onLeave(listener) {
    signal.addEventListener('abort', listener)
    return () => signal.removeEventListener('abort', listener)
  },
})

const slotAt = createConnectionLimiter({ max: 128, maxPerHolder: 128 })

async function streamed(answer: Answer, timeoutMs: number) {
  const { url } = await startUpstream(answer)
  const exchanged = await ask(url, timeoutMs)
  if (exchanged.outcome !== 'answered' || !exchanged.answer.rest)
    throw new Error(`Not streamed: ${exchanged.outcome}`)
  return { body: exchanged.answer.body, rest: exchanged.answer.rest }
}

const closed = async (stream: Readable) => {
  if (!stream.closed) await new Promise((resolve) => stream.once('close', resolve))
}

describe('a request that waits for a connection', () => {
  test.each(['time', 'caller'])('is never sent if its %s ended first', async (lacking) => {
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    const upstream = await startUpstream(async (res) => {
      await released
      res.end('ok')
    })
    const dispatcher = agent(1)
    const first = ask(upstream.url, 60_000, { dispatcher })
    while (upstream.requests.length === 0) await delay(5)
    const caller = new AbortController()
    const second = ask(upstream.url, lacking === 'time' ? 50 : 60_000, { dispatcher, caller })
    if (lacking === 'caller') caller.abort()
    expect(await second).toEqual(
      lacking === 'time' ? { outcome: 'unsent' } : { outcome: 'abandoned', wasSent: false },
    )
    release()
    expect(await first).toMatchObject({ outcome: 'answered' })
    expect(await ask(upstream.url, 60_000, { dispatcher })).toMatchObject({ outcome: 'answered' })
    expect(upstream.requests).toHaveLength(2)
  })

  test('is not started if its caller has disconnected', async () => {
    const upstream = await startUpstream(answers.result())
    const caller = new AbortController()
    caller.abort()
    expect(await ask(upstream.url, 60_000, { caller })).toEqual({ outcome: 'abandoned', wasSent: false })
    expect(upstream.requests).toEqual([])
  })
})

describe('a large answer', () => {
  test.concurrent('that makes progress may take longer than the timeout', async () => {
    const { body, rest } = await streamed(async (res) => {
      res.write(Buffer.alloc(LARGE))
      for (let parts = 0; parts < 16; parts++) {
        await delay(250)
        res.write(Buffer.alloc(1_000))
      }
      res.end()
    }, 3_000)
    expect(body.length + (await buffer(rest)).length).toBe(LARGE + 16_000)
  })

  test.concurrent('that stalls is cut off', async () => {
    const { rest } = await streamed((res) => res.write(Buffer.alloc(LARGE)), 1_000)
    await expect(buffer(rest)).rejects.toThrow('stalled')
  })

  test.concurrent('that drips without end is cut off, and its connection closed', async () => {
    let connectionClosed: Promise<unknown> | undefined
    const { rest } = await streamed((res) => {
      connectionClosed = once(res, 'close')
      res.write(Buffer.alloc(LARGE))
      const timer = setInterval(() => res.write('.'), 5)
      res.once('close', () => clearInterval(timer))
    }, 600)
    await expect(buffer(rest)).rejects.toThrow()
    await connectionClosed
  })

  test.concurrent('that is not read is cut off', async () => {
    const { rest } = await streamed((res) => res.end(Buffer.alloc(20_000_000)), 1_000)
    await closed(rest)
    expect(rest.errored?.message).toContain('stalled')
  })

  test.concurrent('that is cut off before it is read fails its reader', async () => {
    const { rest } = await streamed(answers.resetAfter(LARGE, 2 * LARGE), 60_000)
    await closed(rest)
    await expect(buffer(rest)).rejects.toThrow()
  })
})

test('an answer in very many chunks is held in one buffer', async () => {
  const { url } = await startUpstream(async (res) => {
    for (let parts = 0; parts < 200; parts++) {
      for (let bytes = 0; bytes < 1_000; bytes++) res.write('x')
      await delay(0)
    }
    res.end()
  })
  const exchanged = await ask(url, 60_000)
  if (exchanged.outcome !== 'answered') throw new Error(exchanged.outcome)
  const { body } = exchanged.answer
  expect(body.equals(Buffer.alloc(200_000, 'x'))).toBe(true)
  expect(body.buffer.byteLength).toBeLessThanOrEqual(524_288)
})
