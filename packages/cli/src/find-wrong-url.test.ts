import { TollgateError } from '@tollgate/wallet'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo } from 'node:net'
import { explainUrl } from './find-wrong-url'
import { runProgram } from './program'
import { createTestTerminal } from './testing/terminal'

const json =
  (bodies: Record<string, unknown>): RequestListener =>
  ({ url = '' }, res) => {
    const body = bodies[url]
    res.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    res.end(JSON.stringify(body ?? { code: 'NOT_FOUND', message: 'Nothing is served at this path' }))
  }

const SERVERS = {
  gateway: json({ '/pricing': [] }),
  facilitator: json({ '/supported': { kinds: [] } }),
  other: json({ '/pricing': { plans: 3 } }),
  page: (_, res) => res.setHeader('content-type', 'text/html; charset=utf-8').end('<html>Welcome</html>'),
  moved: (_, res) => res.writeHead(308, { location: 'https://gateway.example/pricing' }).end(),
  overloaded: (_, res) => res.writeHead(503).end(),
  cut: (_, res) => res.destroy(),
} satisfies Record<string, RequestListener>

const origins: Record<string, string> = {}
const servers = Object.entries(SERVERS).map(([name, listener]) => ({ name, server: createServer(listener) }))
beforeAll(async () => {
  for (const { name, server } of servers) {
    await once(server.listen(0, '127.0.0.1'), 'listening')
    origins[name] = `127.0.0.1:${(server.address() as AddressInfo).port}`
  }
})
afterAll(() => {
  for (const { server } of servers) server.close()
})

test.each([
  ['gateway', '', 2, 'is a Tollgate gateway, and no facilitator'],
  ['gateway', '/api/v1', 2, 'is a Tollgate gateway, and no facilitator'],
  ['facilitator', '', 1, 'Nothing is served at this path'],
])('`shop` at the URL of a %s%s', async (name, path, exitCode, message) => {
  const environment = { TOLLGATE_SHOP_PASSWORD: 'a password of a shop' }
  const { terminal, printed } = createTestTerminal({ environment })
  const words = [
    'shop',
    'login',
    '--email',
    'me@shop.example',
    '--facilitator',
    `http://${origins[name]}${path}`,
  ]
  expect(await runProgram(words, { terminal, version: '1.2.3' })).toBe(exitCode)
  expect(printed.stderr).toContain(message)
})

async function listPlans(url: string) {
  const { terminal, printed } = createTestTerminal()
  const exitCode = await runProgram(['plans', '--url', url], { terminal, version: '1.2.3' })
  return { exitCode, lines: printed.stderr.trimEnd().split('\n') }
}

test.each<[string, string, number, string, string]>([
  [
    'of a facilitator',
    'http://{facilitator}',
    2,
    '{} is an x402 facilitator, and no gateway',
    'tollgate shop --facilitator',
  ],
  [
    'of the facilitator’s API',
    'http://{facilitator}/api/v1',
    2,
    '{} is an x402 facilitator, and no gateway',
    '--url',
  ],
  [
    'of another service',
    'http://{other}',
    2,
    '{} answers, and is no Tollgate gateway (200, application/json)',
    '--url or TOLLGATE_URL',
  ],
  ['of a page', 'http://{page}/', 2, 'is no Tollgate gateway (200, text/html)', '--url or TOLLGATE_URL'],
  [
    'that redirects',
    'http://{moved}',
    2,
    '{} redirects to https://gateway.example, which is not followed',
    '--url',
  ],
  [
    'with the path of a page',
    'http://{gateway}/console/',
    2,
    'but one is at http://{gateway}',
    '--url http://{gateway}.',
  ],
  [
    'with an access key',
    'http://{gateway}/v1/base/tgk_secret',
    2,
    'No gateway is at http://{gateway}/v1/base/tgk_…,',
    '--url http://{gateway}.',
  ],
  [
    'of https where http is spoken',
    'https://{gateway}',
    2,
    'but one is at http://{gateway}',
    '--url http://{gateway}.',
  ],
  ['without a scheme', '{gateway}', 2, '--url {} is no URL of a gateway: write http://{gateway}', ''],
  ['of another scheme', 'ftp://{gateway}', 2, 'is no URL of a gateway: write http:// or https://', ''],
  ['where nothing listens', 'http://127.0.0.1:2', 4, 'Nothing listens at {} (ECONNREFUSED)', 'host and port'],
  ['of an unknown host', 'http://gateway.invalid', 4, 'No host gateway.invalid is known', 'DNS'],
  ['where connections are cut', 'http://{cut}', 4, '{} cannot be reached (UND_ERR_SOCKET)', 'Check --url'],
])('a URL %s is named, with what to do', async (_, given, exitCode, message, advice) => {
  const fill = (text: string) =>
    text.replaceAll(/\{(\w+)\}/g, (whole, name: string) => origins[name] ?? whole)
  const url = fill(given)
  const result = await listPlans(url)
  expect(result.exitCode).toBe(exitCode)
  const [first = '', second = '', ...others] = result.lines
  expect(first).toContain(fill(message).replace('{}', url))
  expect(second).toContain(fill(advice))
  expect(others).toEqual([])
})

test('a gateway without plans is one', async () => {
  expect(await listPlans(`http://${origins['gateway']}`)).toMatchObject({ exitCode: 0 })
})

test('the URL is not blamed for a gateway that is overloaded, and for errors of others', async () => {
  const { exitCode, lines } = await listPlans(`http://${origins['overloaded']}`)
  expect([exitCode, lines[0]]).toEqual([1, 'Error: The gateway answered 503'])
  const limit = new TollgateError('LIMIT_REACHED', 'too much')
  expect(await explainUrl(limit, 'http://127.0.0.1:2')).toBe(limit)
  const ofNode = new TollgateError('UNREACHABLE', 'The node could not be reached')
  expect(await explainUrl(ofNode, `http://${origins['gateway']}`)).toBe(ofNode)
})
