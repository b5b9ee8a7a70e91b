import { closeAll } from '@tollgate/testing'
import { setMaxListeners } from 'node:events'
import { type ServerResponse } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { balanceOf, findViolations } from '../testing/accounts'
import { createCaller } from '../testing/callers'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, startUpstream } from '../testing/upstream'
import { MAX_IN_FLIGHT, MAX_IN_FLIGHT_PER_WALLET } from './calls-in-flight'

afterAll(closeAll)

const payload = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: ['x'.repeat(1_048_000)] }
const SHARE = 16

async function callerWithCredits(gateway: TestGateway) {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1_000)
  return createCaller(gateway, (await wallet.signIn()).token)
}

test('large calls that hang at an upstream are limited per wallet: further ones are refused uncharged, small ones never', async () => {
  const gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: 3_600 } })
  const [call, another] = [await callerWithCredits(gateway), await callerWithCredits(gateway)]
  const hanging = await startUpstream(answers.hang)
  const [slow, quick] = [await gateway.chain(hanging.url), await gateway.chain(gateway.upstream.url)]

  const leaving = new AbortController()
  const { signal } = leaving
  setMaxListeners(SHARE, signal)
  const waiting = Array.from({ length: SHARE }, () => call({ chain_id: slow, payload }, { signal }))
  const ended = Promise.allSettled(waiting)
  await until(() => hanging.requests.length === SHARE)

  const refused = await call({ chain_id: quick, payload })
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])
  expect(await refused.body.json()).toMatchObject({ code: 'OVERLOADED' })
  expect(gateway.upstream.requests).toEqual([])
  for (const served of [
    await call({ chain_id: quick }),
    await call({ chain_id: quick, payload: { ...payload, params: ['x'.repeat(16_000)] } }),
    await another({ chain_id: quick, payload }),
  ]) {
    expect(served.statusCode).toBe(200)
    await served.body.dump()
  }

  leaving.abort()
  await ended
  await until(async () => {
    const answer = await call({ chain_id: quick, payload })
    await answer.body.dump()
    return answer.statusCode === 200
  })
  await gateway.ledger.drain()
  expect(await findViolations(gateway.pool)).toEqual([])
})

test('wallets that fill a slow chain are refused uncharged, also a purchase, and calls of other chains are served', async () => {
  const EXTRA = 8
  const environment = { UPSTREAM_TIMEOUT_SECONDS: 3_600, RATE_LIMIT_RPC_PER_MINUTE: 1_000_000 }
  const gateway = await testGateway({ environment })
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10_000)
  const { token, buy } = await wallet.signIn()
  const call = createCaller(gateway, token)
  const fillers = [await callerWithCredits(gateway), await callerWithCredits(gateway)]
  const another = await callerWithCredits(gateway)
  const held: ServerResponse[] = []
  let isReleased = false
  const upstream = await startUpstream((res) => (isReleased ? res.end('{}') : held.push(res)))
  const [slow, quick] = [await gateway.chain(upstream.url), await gateway.chain(gateway.upstream.url)]

  const refused: string[] = []
  const fill = (send: typeof call, count: number) =>
    Array.from({ length: count }, async () => {
      const { statusCode, headers, body } = await send({ chain_id: slow })
      const { code } = (await body.json()) as { code?: string }
      if (statusCode !== 200) refused.push([statusCode, code, headers['retry-after']].join())
    })
  // The refused ones are answered while all others wait.
  const calls = fill(call, MAX_IN_FLIGHT_PER_WALLET + EXTRA)
  await until(() => refused.length === EXTRA)
  expect(outcomeOf(await buy())).toEqual([503, 'OVERLOADED'])

  // The chain is full at half of the room.
  const left = MAX_IN_FLIGHT / 2 - MAX_IN_FLIGHT_PER_WALLET
  for (const send of fillers) calls.push(...fill(send, left / 2 + EXTRA))
  await until(() => refused.length === 3 * EXTRA)
  expect((await another({ chain_id: quick })).statusCode).toBe(200)

  isReleased = true
  for (const res of held) res.end('{}')
  await Promise.all(calls)
  expect(new Set(refused)).toEqual(new Set(['503,OVERLOADED,1']))
  await gateway.ledger.drain()
  expect(await balanceOf(gateway.ledger, wallet.address)).toBe(BigInt(10_000 - MAX_IN_FLIGHT_PER_WALLET))
  expect(await findViolations(gateway.pool)).toEqual([])
  expect((await call({ chain_id: slow })).statusCode).toBe(200)
})

test('large calls whose answers are not read use no memory budget once an upstream has answered', async () => {
  const gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: 3_600 } })
  const call = await callerWithCredits(gateway)
  const endless = await startUpstream((res) => {
    res.writeHead(200, { 'content-type': 'text/plain' })
    const more = () => {
      while (res.write('x'.repeat(65_536)));
    }
    res.on('drain', more)
    more()
  })
  const chain_id = await gateway.chain(endless.url)

  const unread = []
  for (let count = 0; count < 2 * SHARE; count++) {
    const { statusCode, body } = await call({ chain_id, payload })
    body.on('error', () => undefined)
    unread.push(body)
    expect(statusCode).toBe(200)
  }
  for (const body of unread) body.destroy()
})

test('a call that hangs uses the memory of its bytes, not of its parsed body', async () => {
  const gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: 3_600 } })
  const call = await callerWithCredits(gateway)
  const hanging = await startUpstream(answers.hang)
  const chain_id = await gateway.chain(hanging.url)
  const many = {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: Array.from({ length: 32_000 }, () => []),
  }

  const CALLS = 10
  const leaving = new AbortController()
  const { signal } = leaving
  setMaxListeners(CALLS, signal)
  const before = weight()
  const ended = Promise.allSettled(
    Array.from({ length: CALLS }, () => call({ chain_id, payload: many }, { signal })),
  )
  await until(() => hanging.requests.length === CALLS)
  const perCall = (weight() - before) / CALLS
  leaving.abort()
  await ended
  // This process also has the caller's and the upstream's copy. Each parsed body would need another megabyte.
  expect(perCall).toBeLessThan(900_000)
})

/** Reachable bytes. Objects allocated during one collection survive it. */
function weight() {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round++) collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function until(isSo: () => boolean | Promise<boolean>) {
  const deadline = Date.now() + 30_000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('It did not come to be')
    await delay(20)
  }
}
