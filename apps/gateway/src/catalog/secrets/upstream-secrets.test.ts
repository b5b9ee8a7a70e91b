import { activeTraceId, createMetrics } from '@tollgate/service'
import { startTraceCollector, type TraceCollector } from '@tollgate/testing'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { auditAndClose, testGateway, type TestGateway } from '../../testing/gateway'
import { outcomeOf } from '../../testing/outcome'
import { blockNumber, post } from '../../testing/plain'
import { answers, startUpstream, type Answer } from '../../testing/upstream'

const inUrl = 'url-secret-7Jd2mX0qLpW4'
const inFile = 'file-secret-93hGtRz1Ksv8'
const inHeader = 'header-secret-5bNqYw2EuC6'
const base64 = 'slash/8Kq2Z+x9/Vw4=='

const folder = mkdtempSync(join(tmpdir(), 'secrets-'))
const file = join(folder, 'key')
/** Kubernetes and careful operators replace a file so: the path never has half of a secret. */
function replaceFile(text: string) {
  writeFileSync(`${file}.next`, text)
  renameSync(`${file}.next`, file)
}

const metrics = createMetrics({ traceId: activeTraceId })
let collector: TraceCollector
let gateway: TestGateway
beforeAll(async () => {
  writeFileSync(file, `${inFile}\n`)
  collector = await startTraceCollector()
  gateway = await testGateway({
    metrics,
    variables: { NODE_KEY: inUrl, HEADER_KEY: inHeader, BASE64_KEY: base64 },
    environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_TRACES_SAMPLER_ARG: 1 },
  })
})
afterAll(() => auditAndClose(gateway))
afterAll(() => rmSync(folder, { recursive: true }))

async function customer() {
  const wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1_000)
  const { token } = await wallet.signIn()
  return { authorization: `Bearer ${token}` }
}

const metricsText = () => metrics.register.metrics()

const keyed = async (answer: Answer) => {
  const upstream = await startUpstream(answer)
  const provider = {
    provider_id: 'keyed',
    rpc: [`${upstream.url}/v2/\${env:NODE_KEY}`],
    rest: [`${upstream.url}/rest?token=\${file:${file}}`],
    headers: { 'X-Api-Key': 'Bearer ${env:HEADER_KEY}', 'X-Other-Key': '${env:BASE64_KEY}' },
  }
  return { upstream, chain: await gateway.chain(provider) }
}

test('a provider gets its secrets, in place of what the caller sends', async () => {
  const { upstream, chain } = await keyed(answers.result())
  const { authorization } = await customer()
  const own = { authorization, 'x-api-key': 'of the caller' }
  await post(gateway.api, `/v1/${chain}`, blockNumber, own).expect(200)
  await gateway.api.get(`/v1/${chain}/rest/status?x=1`).set(own).expect(200)
  expect(upstream.requests.map(({ url }) => url)).toEqual([
    `/v2/${inUrl}`,
    `/rest/status?token=${inFile}&x=1`,
  ])
  for (const { headers } of upstream.requests) {
    expect(headers['x-api-key']).toBe(`Bearer ${inHeader}`)
    expect(headers.authorization).toBeUndefined()
  }
})

const echo =
  (status: number, isCompressed = false): Answer =>
  (res, { url, headers }) => {
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      error: { code: -1, message: [url, headers['x-api-key']].join() },
    })
    res.writeHead(status, {
      'content-type': 'application/json',
      location: `https://node.example${url}`,
      etag: '"e"',
      ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
    })
    res.end(isCompressed ? gzipSync(body) : body)
  }

test.each([
  ['404', echo(404)],
  ['200', echo(200)],
  ['compressed 404', echo(404, true)],
  ['401', echo(401)],
  ['500', echo(500)],
  ['redirect', echo(302)],
])(
  'no answer, log line, metric or trace shows a secret that an upstream repeats in a %s',
  async (_, answer) => {
    const { upstream, chain } = await keyed(answer)
    const { authorization } = await customer()
    const shown: string[] = []
    const see = ({ headers, text }: { headers: object; text: string }) =>
      shown.push(JSON.stringify(headers), text)
    see(await post(gateway.api, `/v1/${chain}`, blockNumber, { authorization, 'accept-encoding': 'gzip' }))
    see(await gateway.api.get(`/v1/${chain}/rest/status`).set({ authorization }))
    for (const path of [
      '/providers',
      `/providers/keyed?category=evm&chain_id=${chain}`,
      ...['/pricing', '/llms.txt', '/openapi.json', '/.well-known/x402', `/v1/${chain}`],
    ])
      see(await gateway.api.get(path))
    expect(upstream.requests).toHaveLength(2)
    const text = [...shown, gateway.log.text(), await metricsText(), collector.text()].join('\n')
    for (const secret of [inUrl, inFile, inHeader]) expect(text).not.toContain(secret)
  },
)

const said = (text: string | Buffer, headers: Record<string, string> = {}): Answer => {
  return (res) => res.writeHead(200, { 'content-type': 'application/octet-stream', ...headers }).end(text)
}
const unescaped = base64.replace(/[^a-z0-9]/gi, '')
/** What the caller of a provider reads, without the characters that are escaped. */
async function readAs(answer: Answer) {
  const { upstream, chain } = await keyed(answer)
  const { authorization } = await customer()
  const answered = await gateway.api
    .get(`/v1/${chain}/rest/status`)
    .set({ authorization, 'accept-encoding': 'gzip' })
    .responseType('blob')
  const body: unknown = answered.body
  return { status: answered.status, text: Buffer.isBuffer(body) ? body.toString('latin1') : '', upstream }
}
test.each([
  ['as it is', base64],
  ['in a URL', encodeURIComponent(base64)],
  ['in a URL, in small letters', encodeURIComponent(base64).replace(/%../g, (code) => code.toLowerCase())],
  ['in a URL in a URL', encodeURIComponent(encodeURIComponent(base64))],
  ['in JSON with slashes escaped', base64.replaceAll('/', '\\/')],
  ['in JSON in JSON', base64.replaceAll('/', '\\\\\\/')],
  [
    'in JSON with code points',
    base64.replace(/[^a-z0-9]/gi, (char) => `\\u00${char.charCodeAt(0).toString(16).toUpperCase()}`),
  ],
  ['in HTML', base64.replaceAll('/', '&#x2F;').replaceAll('+', '&#43;')],
])('a secret is hidden that an upstream writes %s', async (_, written) => {
  const { text } = await readAs(said(`before ${written} after`))
  expect(text).toMatch(/^before \*{20,} after$/)
})

/** Random characters compress badly. A secret lies across the boundary of two parts and at both ends. */
const filler = randomBytes(300_000).toString('hex')
const boundary = 262_144
const long = [
  `${base64} ${filler.slice(0, boundary - 10 - base64.length)}`,
  `${encodeURIComponent(base64)} ${filler} ${base64}`,
].join('')
const hidden = long
  .replaceAll(base64, (found) => '*'.repeat(found.length))
  .replaceAll(encodeURIComponent(base64), (found) => '*'.repeat(found.length))
test.each([
  ['long', said(long)],
  ['long and compressed', said(gzipSync(long), { 'content-encoding': 'gzip' })],
  [
    'long, and short when compressed',
    said(gzipSync(`${base64} ${'0'.repeat(1_000_000)}`), { 'content-encoding': 'gzip' }),
  ],
])('a secret is hidden in an answer that is %s', async (_, answer) => {
  const { text, upstream } = await readAs(answer)
  expect(upstream.requests[0]?.headers['accept-encoding']).toBe('identity')
  if (text.includes(filler)) expect(text === hidden).toBe(true)
  expect(text.length).toBeGreaterThan(boundary)
  expect(text).not.toContain(unescaped.slice(0, 5))
})

test('an answer is not passed on whose compression is unknown', async () => {
  const { status, text } = await readAs(said(Buffer.from(`x${base64}`), { 'content-encoding': 'zstd' }))
  expect([status, text.includes(base64)]).toEqual([500, false])
})

test('the database has the references only', async () => {
  await keyed(answers.result())
  const { rows } = await gateway.pool.query('SELECT * FROM providers')
  expect(JSON.stringify(rows)).toContain('${env:NODE_KEY}')
  expect(JSON.stringify(rows)).not.toContain(inUrl)
})

test('the list shows URLs without a secret, and the gateway’s own URL of the chain in place of the others', async () => {
  const plain = 'https://node.example/rpc'
  const chain = await gateway.chain(
    { provider_id: 'open', rpc: [plain, 'https://node.example/${env:NODE_KEY}'], rest: [plain] },
    { provider_id: 'literal', rpc: ['https://node.example/v3/0123456789abcdef0123456789abcdef'] },
    { provider_id: 'with-headers', rpc: [plain], headers: { 'x-client': 'tollgate' } },
  )
  const own = `https://gateway.example/v1/eip155:${chain}`
  const body: unknown = (await gateway.api.get('/providers').expect(200)).body
  const of = (
    body as { data: { chain_id: string; provider_id: string; rpc: string[]; rest: string[] }[] }
  ).data
    .filter(({ chain_id }) => chain_id === chain)
    .map(({ provider_id, rpc, rest }) => [provider_id, rpc, rest])
  expect(of).toEqual([
    ['open', [plain, own], [plain]],
    ['literal', [own], []],
    ['with-headers', [own], []],
  ])
})

test('a provider without its secret is skipped, with a log line and a metric, and others serve', async () => {
  const second = await startUpstream(answers.result('0x2'))
  const chain = await gateway.chain(
    { provider_id: 'lacking', rpc: ['https://node.example/${env:NOT_SET}'] },
    { provider_id: 'second', rpc: [second.url] },
  )
  const { authorization } = await customer()
  const answer = await post(gateway.api, `/v1/${chain}`, blockNumber, { authorization }).expect(200)
  expect(answer.body).toMatchObject({ result: '0x2' })
  expect(gateway.log.lines()).toContainEqual(
    expect.objectContaining({
      message: 'provider skipped',
      chain: `eip155:${chain}`,
      provider: 'lacking',
      reason: 'the variable NOT_SET is not set',
    }),
  )
  expect(await metricsText()).toContain(
    `tollgate_provider_secret_state{chain="eip155:${chain}",provider="lacking"} 2`,
  )
})

test('two accounts at one address keep their headers and their circuits apart', async () => {
  const upstream = await startUpstream((res, seen, req) =>
    seen.headers['x-account'] === 'one'
      ? answers.status(429, '', { 'retry-after': '30' })(res, seen, req)
      : answers.result()(res, seen, req),
  )
  const account = (name: string) => ({
    provider_id: name,
    rpc: [upstream.url],
    headers: { 'x-account': name },
  })
  const chain = await gateway.chain(account('one'), account('two'))
  const { authorization } = await customer()
  for (let call = 0; call < 2; call++)
    await post(gateway.api, `/v1/${chain}`, blockNumber, { authorization }).expect(200)
  expect(upstream.requests.map(({ headers }) => headers['x-account'])).toEqual(['one', 'two', 'two'])
})

test('a file that is replaced under load is used without a restart, and no call fails', async () => {
  const keys = new Set([inFile, `${inFile}-2`, `${inFile}-3`])
  let used: string[] = []
  const upstream = await startUpstream((res, seen, req) => {
    const key = new URL(seen.url ?? '', 'http://node').searchParams.get('key') ?? ''
    used.push(key)
    return keys.has(key) ? answers.result()(res, seen, req) : answers.status(401)(res, seen, req)
  })
  const chain = await gateway.chain({ rpc: [`${upstream.url}/?key=\${file:${file}}`] })
  const state = (value: number) =>
    `tollgate_provider_secret_state{chain="eip155:${chain}",provider="provider-0"} ${value}`
  const { authorization } = await customer()
  const callAll = async () => {
    gateway.clock.advance(2)
    const all = await Promise.all(
      Array.from({ length: 20 }, () => post(gateway.api, `/v1/${chain}`, blockNumber, { authorization })),
    )
    expect(all.map(outcomeOf)).toEqual(all.map(() => [200, undefined]))
  }
  await callAll()
  for (const next of [`${inFile}-2`, `${inFile}-3`]) {
    replaceFile(next)
    used = []
    await callAll()
    expect(new Set(used)).toEqual(new Set([next]))
  }

  rmSync(file)
  used = []
  await callAll()
  expect(new Set(used)).toEqual(new Set([`${inFile}-3`]))
  expect(await metricsText()).toContain(state(1))
  writeFileSync(file, '')
  await callAll()
  replaceFile(inFile)
  await callAll()
  expect(await metricsText()).toContain(state(0))
  expect(gateway.log.text()).not.toContain(inFile)
})
