import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { openGatewayDatabase, waitForDatabase } from './index'
import { serverUrl } from './testing/database'
import { tlsOf } from './tls'

const folder = mkdtempSync(join(tmpdir(), 'tls-'))
const certificate = join(folder, 'server.pem')
const key = join(folder, 'server.key')
const other = join(folder, 'other.pem')
const closing: (() => unknown)[] = []

beforeAll(() => {
  for (const [cert, name] of [
    [certificate, 'localhost'],
    [other, 'other'],
  ] as const)
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'rsa:2048',
        '-nodes',
        '-days',
        '2',
        '-keyout',
        name === 'other' ? `${key}.other` : key,
      ].concat(['-out', cert, '-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${name}`]),
      { stdio: 'ignore' },
    )
})
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})
afterAll(() => rmSync(folder, { recursive: true }))

/** Postgres behind TLS with our certificate for "localhost"; it counts the connections that use it. */
async function serverWithTls() {
  const { hostname, port } = new URL(serverUrl())
  let encrypted = 0
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', (request) => {
      if (request.length !== 8) return void socket.destroy()
      socket.write('S')
      const secure = new TLSSocket(socket, {
        isServer: true,
        cert: readFileSync(certificate),
        key: readFileSync(key),
      })
      secure.on('error', () => undefined)
      secure.once('secure', () => encrypted++)
      const inner = connect(Number(port), hostname)
      inner.on('error', () => undefined)
      secure.pipe(inner).pipe(secure)
    })
  })
  server.listen(0, 'localhost')
  await once(server, 'listening')
  closing.push(() => server.close())
  const at = (host: string, parameters: string) => {
    const url = new URL(`${serverUrl()}?${parameters}`)
    url.port = String((server.address() as AddressInfo).port)
    url.hostname = host
    return url.href
  }
  return { at, encrypted: () => encrypted }
}

/** Returns the modes of which a warning came. */
async function query(url: string): Promise<string[]> {
  const unchecked: string[] = []
  await waitForDatabase(url, {
    onRetry: () => {
      throw new Error('it was tried again')
    },
    onUncheckedCertificate: (mode) => unchecked.push(mode),
  })
  const { pool, close } = openGatewayDatabase({ url })
  try {
    await pool.query('SELECT 1')
  } finally {
    await close()
  }
  return unchecked
}

test.each([
  ['require', 'localhost', '', 'warns'],
  ['require', '127.0.0.1', `&sslrootcert=${certificate}`, 'says nothing'],
  ['prefer', 'localhost', '', 'warns'],
  ['no-verify', 'localhost', '', 'says nothing'],
  ['verify-ca', '127.0.0.1', `&sslrootcert=${certificate}`, 'says nothing'],
  ['verify-full', 'localhost', `&sslrootcert=${certificate}`, 'says nothing'],
])('sslmode=%s takes the server at %s%s, with TLS, and %s', async (mode, host, more, says) => {
  const server = await serverWithTls()
  const unchecked = await query(server.at(host, `sslmode=${mode}${more}`))
  expect(unchecked).toEqual(says === 'warns' ? [mode] : [])
  expect(server.encrypted()).toBeGreaterThanOrEqual(2)
})

test.each([
  ['require', 'localhost', `&sslrootcert=${other}`, 'its certificate is not trusted'],
  ['verify-ca', 'localhost', `&sslrootcert=${other}`, 'its certificate is not trusted'],
  ['verify-ca', 'localhost', '', 'needs sslrootcert'],
  ['verify-full', 'localhost', '', 'its certificate is not trusted'],
  ['verify-full', '127.0.0.1', `&sslrootcert=${certificate}`, 'its certificate is not trusted'],
  ['require', 'localhost', '&sslrootcert=system', 'its certificate is not trusted'],
  ['require', 'localhost', '&sslrootcert=/nowhere.pem', 'the file of sslrootcert cannot be read'],
  ['strict', 'localhost', '', 'sslmode must be one of'],
])('sslmode=%s refuses the server at %s%s once: %s', async (mode, host, more, reason) => {
  const server = await serverWithTls()
  await expect(query(server.at(host, `sslmode=${mode}${more}`))).rejects.toThrow(reason)
})

test.each([
  ['disable', true],
  ['allow', true],
  ['prefer', true],
  ['require', false],
  ['verify-full', false],
])('sslmode=%s with a server without TLS: %p', async (mode, isTaken) => {
  const asked = query(`${serverUrl()}?sslmode=${mode}`)
  await (isTaken ? expect(asked).resolves.toEqual([]) : expect(asked).rejects.toThrow('it has no TLS'))
})

test('a URL without parameters of TLS is left to the driver', () => {
  expect(tlsOf('postgresql://u:p@h/d?application_name=a')).toEqual({
    url: 'postgresql://u:p@h/d?application_name=a',
    ways: [],
  })
})
