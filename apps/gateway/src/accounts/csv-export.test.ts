import { closeAll } from '@tollgate/testing'
import { insertPayment } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
})
afterAll(closeAll)

/** Many calls at once, as the ledger would have recorded them. */
async function walletWithCalls(calls: number) {
  const { address } = gateway.wallet()
  await gateway.fund(address, calls)
  await gateway.pool.query(
    `WITH account AS (
       UPDATE accounts SET calls = $2, balance = balance - $2 WHERE wallet = $1 RETURNING id
     )
     INSERT INTO usage (account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, credits, state, outcome)
     SELECT id, gen_random_uuid(), 'node', 'evm', '84532', 'rpc', 'POST', '', '=cmd("x"),' || step, 1, 'done', 'answered'
     FROM account, generate_series(1, $2::int) AS step`,
    [address, calls],
  )
  return address
}

const csvOf = (path: string, accept = 'text/csv') => gateway.api.get(path).set('Accept', accept)
const linesOf = (text: string) => text.split('\r\n').slice(1, -1)
const nextOf = (link: string | undefined) => /^<(.+)>; rel="next"$/.exec(link ?? '')?.[1]

async function follow(path: string) {
  const pages: string[][] = []
  for (let next: string | undefined = path; next !== undefined;) {
    const answer = await csvOf(next).expect(200)
    pages.push(linesOf(answer.text))
    next = nextOf(answer.headers.link)
  }
  return pages
}

test('GET /history/:wallet | CSV has the members of the records, and formulas as text', async () => {
  const address = await walletWithCalls(1)
  const answer = await csvOf(`/history/${address}`).expect(200).expect('cache-control', 'no-store')
  expect(answer.headers['content-type']).toMatch(/^text\/csv\b/)
  expect(answer.headers['content-disposition']).toMatch(/^attachment; filename="?history\.csv"?$/)
  expect(answer.headers['vary']).toMatch(/\bAccept\b/i)
  const [header, line] = answer.text.split('\r\n')
  expect(header).toBe(
    'id,pricing_plan_id,provider_id,ecosystem,chain_id,transport,method,resource,rpc_method,credits,status_code,outcome,latency_ms,created_at,key_label',
  )
  expect(line).toMatch(
    /^\d+,1,node,evm,84532,rpc,POST,,"'=cmd\(""x""\),1",1,,answered,,\d{4}-\d\d-\d\dT[\d:.]+Z,$/,
  )
})

test('GET /history/:wallet | CSV has up to 10,000 records and a link to the next, and repeats and skips none', async () => {
  const address = await walletWithCalls(12_345)
  const all = await follow(`/history/${address}?limit=10000&plan_id=1`)
  expect(all.map((lines) => lines.length)).toEqual([10_000, 2_345])
  const ids = all.flat().map((line) => Number(line.split(',')[0]))
  expect(ids).toEqual(ids.toSorted((a, b) => b - a))
  expect(new Set(ids).size).toBe(12_345)

  const first = (await csvOf(`/history/${address}?limit=3&offset=2`).expect(200)) as unknown as {
    text: string
    headers: { link: string }
  }
  expect(linesOf(first.text).map((line) => Number(line.split(',')[0]))).toEqual(ids.slice(2, 5))
  expect(nextOf(first.headers.link)).toBe(`/history/${address}?limit=3&before=${ids[4]}`)
  expect(await follow(`/history/${address}?limit=10000&before=${ids[12_343]}`)).toEqual([all[1]?.slice(-1)])
})

test('GET /payments/:wallet | CSV of payments, with a link to the next', async () => {
  const { address } = gateway.wallet()
  for (let payments = 0; payments < 5; payments++)
    await insertPayment(gateway.pool, { wallet: address, credits: 1, status: 'failed' })
  const { text } = await csvOf(`/payments/${address}?limit=2`).expect(200)
  expect(text.split('\r\n')[0]).toBe(
    'id,pricing_plan_id,network,chain_id,asset,amount,payer,pay_to,credits,status,transaction,block_number,created_at,settled_at,reversed_at,nonce,decimals,display_denom',
  )
  const pages = await follow(`/payments/${address}?limit=2`)
  expect(pages.map((lines) => lines.length)).toEqual([2, 2, 1])
  expect(new Set(pages.flat()).size).toBe(5)
})

describe.each(['history', 'payments'])('GET /%s/:wallet', (name) => {
  test.each([
    'application/json',
    '*/*',
    'text/html',
    'text/html,*/*;q=0.8',
    'application/json, text/csv;q=0.9',
  ])('Accept: %s | JSON', async (accept) => {
    const answer = await csvOf(`/${name}/${gateway.wallet().address}`, accept).expect(200)
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
  })

  test('no Accept | JSON', async () => {
    const answer = await fetch(`${gateway.url}/${name}/${gateway.wallet().address}`)
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/)
  })

  test('limit | above 100 only as CSV, above 10,000 never', async () => {
    const path = `/${name}/${gateway.wallet().address}`
    expect(outcomeOf(await csvOf(`${path}?limit=101`, '*/*'))).toEqual([400, 'INVALID_REQUEST'])
    await csvOf(`${path}?limit=101`).expect(200)
    expect(outcomeOf(await csvOf(`${path}?limit=10001`))).toEqual([400, 'INVALID_REQUEST'])
    expect(outcomeOf(await csvOf(`/${name}/alice`))).toEqual([400, 'INVALID_REQUEST'])
  })
})

test('an export counts as the pages that it replaces', async () => {
  const limited = await testGateway({ environment: { RATE_LIMIT_READS_PER_MINUTE: 150 } })
  const path = `/history/${gateway.wallet().address}`
  const remaining = async (limit: number, accept: string) =>
    (await limited.api.get(path).query({ limit }).set('Accept', accept)).headers['ratelimit']
  expect(await remaining(10_000, 'text/csv')).toMatch(/"reads";r=50;/)
  expect(await remaining(100, 'text/csv')).toMatch(/r=49;/)
  expect(await remaining(100, '*/*')).toMatch(/r=48;/)
  expect(outcomeOf(await limited.api.get(path).query({ limit: 10_000 }).set('Accept', 'text/csv'))).toEqual([
    429,
    'RATE_LIMITED',
  ])
})
