import { type ServerResponse } from 'node:http'
import { balanceOf } from '../testing/accounts'
import { bytesOf, createCaller } from '../testing/callers'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { times } from '../testing/ledgers'
import { startTcpProxy } from '../testing/tcp-proxy'
import { startUpstream } from '../testing/upstream'

const environment = { UPSTREAM_TIMEOUT_SECONDS: 3_600 }
const LONG_ANSWER_BYTES = 1_000_000

let stalled: TestGateway
let other: TestGateway
let postgres: Awaited<ReturnType<typeof startTcpProxy>>
beforeAll(async () => {
  other = await testGateway({ environment })
  postgres = await startTcpProxy(other.infrastructure.databaseUrl)
  const infrastructure = { ...other.infrastructure, databaseUrl: postgres.url }
  stalled = await testGateway({ environment, beside: { infrastructure } })
})
beforeEach(() => stalled.ledger.sendHeartbeat())
afterAll(() => auditAndClose(other, stalled))

async function underWay(count: number) {
  const wallet = other.wallet()
  await other.fund(wallet.address, 99)
  const { token } = await wallet.signIn()
  const waiting: ServerResponse[] = []
  const upstream = await startUpstream((res) => waiting.push(res))
  const chain_id = await other.chain(upstream.url)
  const call = createCaller(stalled, token)
  const calls = times(count, async () => {
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
    async answered(body: string | Buffer = '{"jsonrpc":"2.0","id":1,"result":"0x1"}') {
      for (const res of waiting) res.writeHead(200, { 'content-type': 'application/json' }).end(body)
      return Promise.all(calls)
    },
  }
}

/** Advances the replica's wall clock by 25 s without a heartbeat, as other replicas see it. */
async function stall() {
  stalled.clock.advance(25)
  await other.pool.query("UPDATE replicas SET heartbeat_at = now() - INTERVAL '25 seconds' WHERE id = $1", [
    stalled.ledger.replicaId,
  ])
}

const charged = (count: number) => times(count, () => [200, undefined, '1'])
const withheld = (count: number) => times(count, () => [503, 'UNAVAILABLE', undefined])

describe('a replica that stalled during calls', () => {
  test.each([
    ['before its next heartbeat', () => Promise.resolve()],
    ['after its next heartbeat', () => stalled.ledger.sendHeartbeat()],
  ])('answers no call that another replica refunded: %s', async (_, wake) => {
    const { answered, balance, states } = await underWay(30)
    expect(await balance()).toBe(69n)
    await stall()
    expect(await other.ledger.refundOrphans()).toBe(30)
    await wake()
    expect(await answered()).toEqual(withheld(30))
    expect([await balance(), await states()]).toEqual([99n, times(30, () => 'refunded')])
  })

  test('answers and charges calls that were not refunded', async () => {
    const { answered, balance, states } = await underWay(5)
    await stall()
    expect(await answered()).toEqual(charged(5))
    expect([await balance(), await states()]).toEqual([94n, times(5, () => 'done')])
    expect(await other.ledger.refundOrphans()).toBe(0)
  })

  test('answers and charges calls reserved after its next heartbeat', async () => {
    await stall()
    await stalled.ledger.sendHeartbeat()
    const { answered, balance } = await underWay(5)
    expect(await answered()).toEqual(charged(5))
    await stalled.ledger.drain()
    expect(await balance()).toBe(94n)
  })

  test('answers none of them and refunds all if Postgres cannot confirm them', async () => {
    const { answered, balance } = await underWay(5)
    await stall()
    postgres.pause()
    const answers = await answered()
    postgres.resume()
    expect(answers).toEqual(withheld(5))
    await stalled.ledger.drain()
    expect(await balance()).toBe(99n)
  }, 30_000)
})

test('a replica whose heartbeat is fresh answers without asking Postgres, and charges when it can', async () => {
  const { answered, balance, states } = await underWay(5)
  postgres.pause()
  const answers = await answered()
  expect(await states()).toEqual(times(5, () => 'reserved'))
  postgres.resume()
  expect(answers).toEqual(charged(5))
  await stalled.ledger.drain()
  expect([await balance(), await states()]).toEqual([94n, times(5, () => 'done')])
})

test('a streamed answer is charged before its first byte, because it can outlast the lease', async () => {
  const { answered, balance, states } = await underWay(1)
  const holder = await other.pool.connect()
  await holder.query('BEGIN')
  await holder.query("SELECT FROM usage WHERE state = 'reserved' FOR UPDATE")
  const answers = await answered(Buffer.alloc(LONG_ANSWER_BYTES, ' '))
  await holder.query('ROLLBACK')
  holder.release()
  expect(answers).toEqual(withheld(1))
  await stalled.ledger.drain()
  expect([await balance(), await states()]).toEqual([99n, ['refunded']])

  const next = await underWay(1)
  expect(await next.answered(Buffer.alloc(LONG_ANSWER_BYTES, ' '))).toEqual(charged(1))
  expect([await next.balance(), await next.states()]).toEqual([98n, ['done']])
})
