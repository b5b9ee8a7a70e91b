import { closeAll } from '@tollgate/testing'
import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { broken } from '../testing/accounts'
import { callerOf } from '../testing/callers'
import { testGateway } from '../testing/gateway'
import { answers, startUpstream } from '../testing/upstream'

afterAll(closeAll)

/** Just below the limit of a body: the gateway holds 64 of them and not 65. */
const payload = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: ['x'.repeat(1_048_000)] }
const HELD = 64

test('large calls that an upstream leaves hanging are bounded: more are refused unpaid, until some are over', async () => {
  const gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: 3_600 } })
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1_000)
  const call = callerOf(gateway, (await wallet.signIn()).token)
  const hanging = await startUpstream(answers.hang)
  const [slow, quick] = [await gateway.chain(hanging.url), await gateway.chain(gateway.upstream.url)]

  const leaving = new AbortController()
  const { signal } = leaving
  setMaxListeners(HELD, signal)
  const waiting = Array.from({ length: HELD }, () => call({ chain_id: slow, payload }, { signal }))
  const ended = Promise.allSettled(waiting)
  await until(() => hanging.asked.length === HELD)

  const refused = await call({ chain_id: quick, payload })
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([503, '1'])
  expect(await refused.body.json()).toMatchObject({ code: 'OVERLOADED' })
  expect(gateway.upstream.asked).toEqual([])
  const small = await call({ chain_id: quick })
  expect(small.statusCode).toBe(200)
  await small.body.dump()

  leaving.abort()
  await ended
  await until(async () => {
    const answer = await call({ chain_id: quick, payload })
    await answer.body.dump()
    return answer.statusCode === 200
  })
  await gateway.ledger.drained()
  expect(await broken(gateway.pool)).toEqual([])
})

test('a call that hangs weighs what was sent, however much its body weighs once it is parsed', async () => {
  const gateway = await testGateway({ environment: { UPSTREAM_TIMEOUT_SECONDS: 3_600 } })
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1_000)
  const call = callerOf(gateway, (await wallet.signIn()).token)
  const hanging = await startUpstream(answers.hang)
  const chain_id = await gateway.chain(hanging.url)
  const many = {
    jsonrpc: '2.0',
    id: 1,
    method: 'eth_call',
    params: Array.from({ length: 100_000 }, () => ({})),
  }

  const CALLS = 10
  const leaving = new AbortController()
  const { signal } = leaving
  setMaxListeners(HELD, signal)
  const before = weight()
  const ended = Promise.allSettled(
    Array.from({ length: CALLS }, () => call({ chain_id, payload: many }, { signal })),
  )
  await until(() => hanging.asked.length === CALLS)
  const perCall = (weight() - before) / CALLS
  leaving.abort()
  await ended
  // The caller's copy and the upstream's are in this process as well. Parsed, each would be six megabytes more.
  expect(perCall).toBeLessThan(4_000_000)
})

/** What this process holds that is not garbage, in bytes; what is allocated during one collection outlives that one. */
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
