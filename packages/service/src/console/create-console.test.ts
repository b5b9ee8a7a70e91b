import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { serve, stopServing } from '../testing/serve'
import { createConsole, type ConsoleOptions } from './create-console'
import { mountConsole } from './mount-console'

const SCRIPT = 'console.log("built")'
const PAGE = '<!doctype html><html lang="en"><script src="./assets/a-1.js" nonce="__CSP_NONCE__"></script>'
const folder = mkdtempSync(join(tmpdir(), 'console-'))

beforeAll(() => {
  mkdirSync(join(folder, 'built/assets'), { recursive: true })
  writeFileSync(join(folder, 'built/index.html'), PAGE)
  writeFileSync(join(folder, 'built/assets/a-1.js'), SCRIPT)
  writeFileSync(join(folder, 'built/assets/a-1.js.br'), brotliCompressSync(SCRIPT))
  writeFileSync(join(folder, 'built/assets/a-1.js.gz'), gzipSync(SCRIPT))
  writeFileSync(join(folder, 'built/secret.txt'), 'secret')
  writeFileSync(join(folder, 'wallet.js'), 'wallet()')
})
afterAll(() => rmSync(folder, { recursive: true }))
afterEach(stopServing)

const open = async (options: Partial<ConsoleOptions> = {}) => {
  const console = createConsole({ folder: join(folder, 'built'), ...options })
  const { url } = await serve({ routes: (app) => mountConsole(app, console, (_req, _res, next) => next()) })
  return (path: string, headers = {}) => fetch(url + path, { headers, redirect: 'manual' })
}

test.each([
  ['/', 302, 'console/'],
  ['/console', 308, 'console/'],
])('%s leads to the console, also below a prefix', async (path, status, location) => {
  const response = await (await open())(path)
  expect([response.status, response.headers.get('location')]).toEqual([status, location])
})

test('each page has a nonce of its own, allows only its own host, and is not cached', async () => {
  const get = await open()
  const pages = await Promise.all([get('/console/'), get('/console/')])
  const nonces = pages.map(
    (page) => /'nonce-([^']+)'/.exec(page.headers.get('content-security-policy') ?? '')?.[1],
  )
  expect(new Set(nonces).size).toBe(2)
  expect(await pages[0].text()).toBe(PAGE.replace('__CSP_NONCE__', nonces[0] ?? ''))
  expect(pages[0].headers.get('cache-control')).toBe('no-store')
  expect(pages[0].headers.get('content-security-policy')).toBe(
    `default-src 'none';script-src 'self';style-src 'self' 'nonce-${nonces[0]}';img-src 'self' data:;font-src 'self';connect-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'`,
  )
})

test.each([
  ['br', 'br'],
  ['gzip', 'gzip'],
  ['identity', null],
])('a file is sent to a client that takes %s, and may be cached for ever', async (accepted, encoding) => {
  const response = await (await open())('/console/assets/a-1.js', { 'accept-encoding': accepted })
  expect(response.headers.get('content-encoding')).toBe(encoding)
  expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(response.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(response.headers.get('vary')).toContain('Accept-Encoding')
  expect(await response.text()).toBe(SCRIPT)
})

test.each([
  '/console/assets/a-1.js.br',
  '/console/assets/b.js',
  '/console/assets/..%2fsecret.txt',
  '/console/assets/%2e%2e/secret.txt',
  '/console/secret.txt',
  '/console/development.js',
])('%s is no file of the console', async (path) => {
  expect((await (await open())(path)).status).toBe(404)
})

test('a development script is loaded first', async () => {
  const get = await open({ developmentScript: join(folder, 'wallet.js') })
  const page = await (await get('/console/')).text()
  expect(page).toMatch(/<script src="development.js" nonce="[^"]+"><\/script><script src=".\/assets/)
  const script = await get('/console/development.js')
  expect([await script.text(), script.headers.get('cache-control')]).toEqual(['wallet()', 'no-store'])
})

test('tells its pages to link to no block explorer, if so configured', async () => {
  const page = await (await (await open({ hasExplorerLinks: false }))('/console/')).text()
  expect(page).toContain('<html data-explorers="none" lang="en">')
})

test('without a build, the page says how to build it', async () => {
  const response = await (await open({ folder: join(folder, 'absent') }))('/console/')
  expect([response.status, await response.text()]).toEqual([404, expect.stringContaining('pnpm build')])
})
