import { closeAll } from '@tollgate/testing'
import { type ServerResponse } from 'node:http'
import { balanceOf, broken } from '../testing/accounts'
import { bytesOf, callerOf } from '../testing/callers'
import { testGateway, type TestGateway } from '../testing/gateway'
import { many } from '../testing/ledgers'
import { startTcpProxy } from '../testing/tcp-proxy'
import { startUpstream } from '../testing/upstream'

/** So long that nothing here can end by it. */
const environment = { UPSTREAM_TIMEOUT_SECONDS: 3_600 }
const LONG_ANSWER_BYTES = 1_000_000

/** The replica that stalls, on a connection to Postgres that can be paused, and one beside it that goes on. */
let stalled: TestGateway
let other: TestGateway
let postgres: Awaited<ReturnType<typeof startTcpProxy>>
beforeAll(async () => {
  other = await testGateway({ environment })
  postgres = await startTcpProxy(other.ground.databaseUrl)
  const ground = { ...other.ground, databaseUrl: postgres.url }
  stalled = await testGateway({ environment, beside: { ground } })
})
beforeEach(() => stalled.ledger.beat())
afterAll(async () => {
  await stalled.ledger.drained()
  expect(await broken(other.pool)).toEqual([])
  await closeAll()
})

/** So many calls of a wallet with 99 credits, sent to the replica that stalls, which has them all at an upstream. */
async function underWay(count: number) {
  const wallet = other.wallet()
  await other.fund(wallet.address, 99)
  const { token } = await wallet.signIn()
  const waiting: ServerResponse[] = []
  const upstream = await startUpstream((res) => waiting.push(res))
  const chain_id = await other.chain(upstream.url)
  const call = callerOf(stalled, token)
  const calls = many(count, async () => {
    const answer = await call({ chain_id })
    const body = await bytesOf(answer)
    const { code } = (answer.statusCode === 200 ? {} : JSON.parse(String(body))) as { code?: string }
    return [answer.statusCode, code, answer.headers['x-credits-charged']]
  })
  while (waiting.length < count) await new Promise(setImmediate)
  const states = async () => {
    const text = 'SELECT state FROM usage WHERE chain_id = $1 ORDER BY id'
    return (await other.pool.query<{ state: string }>(text, [chain_id])).rows.map(({ state }) => state)
  }
  return {
    states,
    balance: () => balanceOf(other.ledger, wallet.address),
    /** The upstream answers all of them. */
    async answered(body: string | Buffer = '{"jsonrpc":"2.0","id":1,"result":"0x1"}') {
      for (const res of waiting) res.writeHead(200, { 'content-type': 'application/json' }).end(body)
      return Promise.all(calls)
    },
  }
}

/** Others see no heartbeat of it for 25 s, and so much passes on its wall clock. */
async function stall() {
  stalled.clock.advance(25)
  await other.pool.query("UPDATE replicas SET heartbeat_at = now() - interval '25 seconds' WHERE id = $1", [
    stalled.ledger.replicaId,
  ])
}

const charged = (count: number) => many(count, () => [200, undefined, '1'])
const withheld = (count: number) => many(count, () => [503, 'UNAVAILABLE', undefined])

describe('a replica that stalled while calls were under way', () => {
  test.each([
    ['before its next heartbeat', () => Promise.resolve()],
    ['after its next heartbeat', () => stalled.ledger.beat()],
  ])('answers none of them that another refunded: %s', async (_, wake) => {
    const { answered, balance, states } = await underWay(30)
    expect(await balance()).toBe(69n)
    await stall()
    expect(await other.ledger.reap()).toBe(30)
    await wake()
    expect(await answered()).toEqual(withheld(30))
    expect([await balance(), await states()]).toEqual([99n, many(30, () => 'refunded')])
  })

  test('answers and charges for those that nobody refunded', async () => {
    const { answered, balance, states } = await underWay(5)
    await stall()
    expect(await answered()).toEqual(charged(5))
    expect([await balance(), await states()]).toEqual([94n, many(5, () => 'done')])
    expect(await other.ledger.reap()).toBe(0)
  })

  test('answers and charges for what is reserved after its next heartbeat', async () => {
    await stall()
    await stalled.ledger.beat()
    const { answered, balance } = await underWay(5)
    expect(await answered()).toEqual(charged(5))
    await stalled.ledger.drained()
    expect(await balance()).toBe(94n)
  })

  test('answers none of them, and gives all back, where Postgres does not say whose they are', async () => {
    const { answered, balance } = await underWay(5)
    await stall()
    postgres.pause()
    const answers = await answered()
    postgres.resume()
    expect(answers).toEqual(withheld(5))
    await stalled.ledger.drained()
    expect(await balance()).toBe(99n)
  }, 30_000)
})

test('a replica whose heartbeat is fresh answers without asking Postgres, and charges when it can', async () => {
  const { answered, balance, states } = await underWay(5)
  postgres.pause()
  const answers = await answered()
  expect(await states()).toEqual(many(5, () => 'reserved'))
  postgres.resume()
  expect(answers).toEqual(charged(5))
  await stalled.ledger.drained()
  expect([await balance(), await states()]).toEqual([94n, many(5, () => 'done')])
})

test('a long answer is charged for before its first byte, for it may outlast every heartbeat', async () => {
  const { answered, balance, states } = await underWay(1)
  const holder = await other.pool.connect()
  await holder.query('BEGIN')
  await holder.query("SELECT FROM usage WHERE state = 'reserved' FOR UPDATE")
  const answers = await answered(Buffer.alloc(LONG_ANSWER_BYTES, ' '))
  await holder.query('ROLLBACK')
  holder.release()
  expect(answers).toEqual(withheld(1))
  await stalled.ledger.drained()
  expect([await balance(), await states()]).toEqual([99n, ['refunded']])

  const next = await underWay(1)
  expect(await next.answered(Buffer.alloc(LONG_ANSWER_BYTES, ' '))).toEqual(charged(1))
  expect([await next.balance(), await next.states()]).toEqual([98n, ['done']])
})
