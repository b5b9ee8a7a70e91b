import { operationsOf, type OpenApiDocument } from '@tollgate/service'
import { closeAll, closeLater } from '@tollgate/testing'
import fc from 'fast-check'
import { randomInt } from 'node:crypto'
import { Agent } from 'undici'
import { broken } from '../testing/accounts'
import { createContract } from '../testing/contract'
import { testGateway, type TestGateway } from '../testing/gateway'
import { BASE64_MARK, liveCounts, requestsOf, type FuzzRequest, type LiveName } from '../testing/requests'
import { answers, startUpstream } from '../testing/upstream'

/** Both can be set, to repeat a run: its seed is printed. */
const seed = Number(process.env.FUZZ_SEED ?? randomInt(2 ** 31))
const requests = Number(process.env.FUZZ_REQUESTS ?? 20_000)

const BATCH = 250
const AT_ONCE = 24

let gateway: TestGateway
beforeAll(async () => {
  const plenty = 1_000_000_000
  gateway = await testGateway({
    environment: {
      RATE_LIMIT_AUTH_PER_MINUTE: plenty,
      RATE_LIMIT_RPC_PER_MINUTE: plenty,
      RATE_LIMIT_READS_PER_MINUTE: plenty,
    },
  })
})
afterAll(closeAll)

/** An upstream that answers well most of the time, and anything else at others. */
async function changingUpstream() {
  const manners = [
    ...Array.from({ length: 12 }, () => answers.result()),
    answers.status(404, 'no such block'),
    answers.status(500, 'broken'),
    answers.status(429, 'slow down', { 'retry-after': '7' }),
    answers.status(302, '', { location: 'http://169.254.169.254/' }),
    answers.status(204, ''),
    answers.status(200, 'x'.repeat(300_000)),
    answers.reset,
  ]
  let turn = 0
  return startUpstream((res, seen, req) => manners[turn++ % manners.length]?.(res, seen, req))
}

/** What the placeholders of the requests stand for: sessions, logins and payments that are good, at least the first time. */
async function liveValues(): Promise<(name: LiveName, index: number) => string> {
  const times = <T>(count: number, make: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => make(index)))
  const rich = await times(liveCounts.token, async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 1_000_000)
    return { wallet, session: await wallet.signIn() }
  })
  const poor = await gateway.wallet().signIn()
  const ended = await gateway.wallet().signIn()
  await gateway.api.post('/auth/logout').set('Authorization', `Bearer ${ended.token}`).expect(200)
  const spare = await times(liveCounts.spare, () => gateway.wallet().signIn())
  const logins = await times(liveCounts.login, () => gateway.wallet().login())
  const payments = await times(liveCounts.payment, (index) => rich[index % 2]!.wallet.pay())
  return (name, index) => {
    if (name === 'token') return rich[index]?.session.token ?? ''
    if (name === 'wallet') return rich[index]?.wallet.address ?? gateway.wallet().address
    if (name === 'poor') return poor.token
    if (name === 'ended') return ended.token
    if (name === 'spare') return spare[index]?.token ?? ''
    if (name === 'refresh') return spare[index]?.refresh_token ?? ''
    if (name === 'payment') return payments[index] ?? ''
    return logins[index]?.[name as 'message'] ?? ''
  }
}

type Live = Awaited<ReturnType<typeof liveValues>>

const filled = (text: string, live: Live, written: (value: string) => string = (value) => value) =>
  text.replace(/<<(\w+):(\d+)>>/g, (_, name: LiveName, index: string) => written(live(name, Number(index))))

const headerOf = (value: string, live: Live) =>
  value.startsWith(BASE64_MARK)
    ? Buffer.from(filled(value.slice(BASE64_MARK.length), live, inJson)).toString('base64')
    : filled(value, live)

const inJson = (value: string) => JSON.stringify(value).slice(1, -1)

test(`${requests} requests out of its own schemas get documented answers, and leave the books in order`, async () => {
  const document = (await gateway.api.get('/openapi.json').expect(200)).body as OpenApiDocument
  const contract = createContract(document)
  const { url } = await changingUpstream()
  Object.assign(gateway.catalog.providers[0]!, { provider_id: 'base-sepolia-main', rpc: [url], rest: [url] })
  await gateway.reapply()
  const live = await liveValues()
  const dispatcher = new Agent({ connections: AT_ONCE, headersTimeout: 30_000, bodyTimeout: 30_000 })
  closeLater(() => dispatcher.destroy())

  const counts: Record<string, Record<string, number>> = {}
  const failures: object[] = []

  async function send(sent: FuzzRequest, number: number) {
    const { operationId, method, route, path, headers, body } = sent
    const bytes = body && Buffer.from(filled(body.text, live, inJson), body.encoding)
    let answer
    try {
      const answered = await dispatcher.request({
        origin: gateway.url,
        path: filled(path, live),
        method: method,
        headers: headers.flatMap(([name, value]) => [name, headerOf(value, live)]),
        ...(bytes ? { body: bytes } : {}),
      })
      answer = { status: answered.statusCode, headers: answered.headers, text: await answered.body.text() }
    } catch (error) {
      failures.push({ number, problems: [String(error)], sent })
      return
    }
    const status = `${answer.status}${answer.headers['x-credits-charged'] === undefined ? '' : ' (upstream)'}`
    const byStatus = (counts[operationId] ??= {})
    byStatus[status] = (byStatus[status] ?? 0) + 1
    const problems = contract.problemsOfAnswer(method.toLowerCase(), route, answer)
    if (answer.status === 500 && answer.text.includes('INTERNAL_ERROR')) problems.push('is an error of ours')
    if (problems.length > 0)
      failures.push({ number, problems, answer: { ...answer, text: answer.text.slice(0, 500) }, sent })
  }

  process.stdout.write(`fuzz: FUZZ_SEED=${seed} FUZZ_REQUESTS=${requests}\n`)
  const arbitrary = requestsOf(document)
  for (let number = 0; number < requests && failures.length < 10; number += BATCH) {
    const waiting = fc.sample(arbitrary, { seed: seed + number, numRuns: BATCH }).entries()
    const lane = async () => {
      for (const [index, sent] of waiting) await send(sent, number + index)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, lane))
  }

  process.stdout.write(`${tableOf(counts)}\n`)
  expect(failures).toEqual([])
  const served = Object.values(counts).map((byStatus) =>
    Object.keys(byStatus).some((status) => /^200/.test(status)),
  )
  expect([served.length, served.every(Boolean)]).toEqual([operationsOf(document).length, true])
  expect(Object.keys(counts['call'] ?? {})).toEqual(expect.arrayContaining(['402', '403', '500']))
  await gateway.ledger.drained()
  await gateway.reconcile()
  expect(await broken(gateway.pool)).toEqual([])
  await gateway.api.get('/ready').expect(200)
}, 600_000)

function tableOf(counts: Record<string, Record<string, number>>): string {
  const sum = (byStatus: Record<string, number>) =>
    Object.values(byStatus).reduce((all, count) => all + count, 0)
  const lines = Object.entries(counts).map(
    ([operationId, byStatus]) =>
      `${operationId.padEnd(22)}${String(sum(byStatus)).padStart(6)}  ${Object.entries(byStatus)
        .map(([status, count]) => `${status}: ${count}`)
        .sort()
        .join(', ')}`,
  )
  return [
    ...lines,
    `${'all'.padEnd(22)}${String(
      Object.values(counts)
        .map(sum)
        .reduce((all, count) => all + count, 0),
    ).padStart(6)}`,
  ].join('\n')
}
