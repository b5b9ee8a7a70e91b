import { closeAll } from '@tollgate/testing'
import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { broken } from '../testing/accounts'
import { callerOf } from '../testing/callers'
import { testGateway } from '../testing/gateway'
import { answers, startUpstream } from '../testing/upstream'

afterAll(closeAll)

/** Just below the limit of a body: the gateway holds 128 of them and not 129. */
const payload = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: ['x'.repeat(1_048_000)] }
const HELD = 128

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

async function until(isSo: () => boolean | Promise<boolean>) {
  const deadline = Date.now() + 30_000
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('It did not come to be')
    await delay(20)
  }
}
