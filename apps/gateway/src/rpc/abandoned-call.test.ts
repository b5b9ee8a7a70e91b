import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { createCaller } from '../testing/callers'
import { startRaw } from '../testing/faults'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { answers, startUpstream, type Answer } from '../testing/upstream'

const TIMEOUT_SECONDS = 3_600

let gateway: TestGateway
let call: ReturnType<typeof createCaller>
beforeAll(async () => {
  gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: TIMEOUT_SECONDS } })
  const owner = gateway.wallet()
  await gateway.fund(owner.address, 1_000)
  call = createCaller(gateway, (await owner.signIn()).token)
})
afterAll(() => auditAndClose(gateway))

async function watchedUpstream(answer: Answer = answers.hang) {
  let asked: ((res: Parameters<Answer>[0]) => void) | undefined
  const request = new Promise<Parameters<Answer>[0]>((resolve) => {
    asked = resolve
  })
  const connectionClosed = request.then(async (res) => {
    if (!res.closed) await once(res, 'close')
  })
  const upstream = await startUpstream((res, seen, req) => {
    asked?.(res)
    return answer(res, seen, req)
  })
  return { ...upstream, request, connectionClosed }
}

async function bookedFor(chain_id: string) {
  const deadline = Date.now() + 30_000
  while (Date.now() < deadline) {
    const { rows } = await gateway.pool.query<{ state: string }>(
      'SELECT state, outcome, status_code, credits FROM usage WHERE chain_id = $1',
      [chain_id],
    )
    if (rows.length > 0 && rows.every(({ state }) => state !== 'reserved')) return rows
    await delay(20)
  }
  throw new Error('A call was not brought to its end')
}

describe('a caller that disconnects', () => {
  test('ends the upstream request at once, without a retry, and pays if it was sent', async () => {
    const first = await watchedUpstream()
    const second = await startUpstream(answers.result())
    const chain_id = await gateway.chain(first.url, second.url)
    const leaving = new AbortController()
    const answer = call({ chain_id }, { signal: leaving.signal })
    await first.request
    leaving.abort()
    await expect(answer).rejects.toThrow('aborted')
    await first.connectionClosed
    expect(await bookedFor(chain_id)).toEqual([
      { state: 'done', outcome: 'caller_left', status_code: null, credits: 1 },
    ])
    expect(second.requests).toEqual([])
  })

  test('before its call was sent pays nothing', async () => {
    const connected = new EventEmitter()
    const connection = once(connected, 'connection')
    const { url } = await startRaw(() => undefined, { onConnection: () => connected.emit('connection') })
    const chain_id = await gateway.chain(url.replace('http:', 'https:'))
    const leaving = new AbortController()
    const answer = call({ chain_id }, { signal: leaving.signal })
    await connection
    leaving.abort()
    await expect(answer).rejects.toThrow('aborted')
    expect(await bookedFor(chain_id)).toEqual([
      { state: 'refunded', outcome: 'caller_left', status_code: null, credits: 1 },
    ])
  })

  test('before its call was sent to a second upstream pays for the first attempt', async () => {
    const first = await startUpstream(answers.reset)
    const connected = new EventEmitter()
    const connection = once(connected, 'connection')
    const { url } = await startRaw(() => undefined, { onConnection: () => connected.emit('connection') })
    const chain_id = await gateway.chain(first.url, url.replace('http:', 'https:'))
    const leaving = new AbortController()
    const answer = call({ chain_id }, { signal: leaving.signal })
    await connection
    expect(first.requests).toHaveLength(1)
    leaving.abort()
    await expect(answer).rejects.toThrow('aborted')
    expect(await bookedFor(chain_id)).toEqual([
      { state: 'done', outcome: 'caller_left', status_code: null, credits: 1 },
    ])
  })

  test('within a streamed answer closes the upstream connection, and pays', async () => {
    const upstream = await watchedUpstream((res) => {
      res.writeHead(200)
      const write = () => {
        while (!res.closed && res.write(Buffer.alloc(65_536)));
      }
      res.on('drain', write)
      write()
    })
    const chain_id = await gateway.chain(upstream.url)
    const leaving = new AbortController()
    const { body } = await call({ chain_id }, { signal: leaving.signal })
    body.on('error', () => undefined)
    await once(body, 'readable')
    leaving.abort()
    await upstream.connectionClosed
    expect(await bookedFor(chain_id)).toEqual([
      { state: 'done', outcome: 'answered', status_code: 200, credits: 1 },
    ])
  })

  test('does not count as a failure of the upstream', async () => {
    const first = await startUpstream((res, { body }) =>
      body.includes('eth_hang') ? undefined : answers.result('first')(res, { body } as never, {} as never),
    )
    const chain_id = await gateway.chain(first.url, (await startUpstream(answers.result('second'))).url)
    for (let calls = 1; calls <= 10; calls++) {
      const leaving = new AbortController()
      const answer = call({ chain_id, payload: { method: 'eth_hang' } }, { signal: leaving.signal })
      while (first.requests.length < calls) await delay(5)
      leaving.abort()
      await expect(answer).rejects.toThrow('aborted')
    }
    await bookedFor(chain_id)
    const answer = await call({ chain_id })
    expect(await answer.body.json()).toMatchObject({ result: 'first' })
  })
})
