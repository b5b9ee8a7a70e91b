import { removePostgres, startPostgres } from '@tollgate/devnet'
import { createDatabase, migrate } from '@tollgate/database'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { follow } from './testing/program'

const services = ['gateway', 'facilitator'] as const
type Service = (typeof services)[number]

let folder: string
const running: (() => unknown)[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-bad-start-'))
})
afterEach(async () => {
  for (const stop of running.splice(0).reverse()) await stop()
})
afterAll(() => {
  for (const service of services) removePostgres(join(folder, service))
  rmSync(folder, { recursive: true, force: true })
})

function start(service: Service, variables: Record<string, string>) {
  const main = join(__dirname, '../../apps', service, 'dist/main.js')
  const { PATH } = process.env
  const child = spawn(process.execPath, [main], { env: { PATH, PORT: '0', METRICS_PORT: '0', ...variables } })
  running.push(() => child.kill('SIGKILL'))
  return follow(child)
}

const SECRET = 'a-secret-of-this-test-run-and-of-no-other'

function environmentOf(service: Service, databaseUrl: string): Record<string, string> {
  const shared = { DATABASE_URL: databaseUrl, JWT_SECRET: SECRET }
  if (service === 'gateway')
    return {
      ...shared,
      PUBLIC_URL: 'https://gateway.example',
      SIGN_IN_DOMAINS: 'Tollgate',
      FACILITATOR_URL: 'http://127.0.0.1:1/api/v1',
      FACILITATOR_CLIENT_ID: 'client',
      FACILITATOR_CLIENT_TOKEN: SECRET,
    }
  const NETWORKS_FILE = join(folder, 'networks.yaml')
  const network = {
    name: 'base-sepolia',
    ecosystem: 'evm',
    chain_id: '84532',
    rpc_urls: ['http://127.0.0.1:1'],
    max_fees_per_day: '50000000000000000',
  }
  writeFileSync(NETWORKS_FILE, JSON.stringify([{ ...network, signer_keys: ['11'.repeat(32)] }]))
  return { ...shared, NETWORKS_FILE }
}

async function migratedDatabase(service: Service, server: string) {
  const url = new URL(server)
  url.pathname = `/bad_start_${service}_${process.pid}`
  await createDatabase(url.href)
  await migrate({ url: url.href, service })
  return url.href
}

const testPostgres = () => process.env['TEST_POSTGRES_URL'] ?? ''

describe.each(services)('%s', (service) => {
  test('without its environment names every variable that is missing, and exits with 78', async () => {
    const { exited, output } = start(service, {})
    expect(await exited).toBe(78)
    for (const name of Object.keys(environmentOf(service, ''))) expect(output()).toContain(`${name}: not set`)
  })

  test('with a wrong variable names it, exits with 78, and repeats no value', async () => {
    const environment = environmentOf(service, 'mysql://user:hunter2@nowhere/database')
    const { exited, output } = start(service, { ...environment, LOG_LEVEL: 'shouting' })
    expect(await exited).toBe(78)
    expect(output()).toMatch(/DATABASE_URL: expected .*postgresql/)
    expect(output()).toContain('LOG_LEVEL: expected error, warn, info or debug')
    for (const value of ['hunter2', 'shouting', SECRET]) expect(output()).not.toContain(value)
  })

  test('in production refuses a development secret', async () => {
    const environment = environmentOf(service, 'postgresql://user:password@nowhere/database')
    const JWT_SECRET = `development-only-${SECRET}`
    const { exited, output } = start(service, { ...environment, JWT_SECRET, NODE_ENV: 'production' })
    expect(await exited).toBe(78)
    expect(output()).toContain('JWT_SECRET: holds a value for development')
    expect(output()).not.toContain(SECRET)
  })

  test('on a busy port names it, and exits', async () => {
    const holder = createServer().listen(0, '127.0.0.1')
    running.push(() => holder.close())
    await once(holder, 'listening')
    const { port } = holder.address() as AddressInfo
    const environment = environmentOf(service, await migratedDatabase(service, testPostgres()))
    const { exited, output } = start(service, { ...environment, PORT: String(port) })
    expect(await exited).not.toBe(0)
    expect(output()).toMatch(new RegExp(`port ${port}.*in use|${port}.*(busy|taken|in use)`, 'i'))
  })

  test('waits for Postgres at the start, and serves once it is available', async () => {
    const place = join(folder, service)
    const early = await startPostgres({ folder: place, durable: false })
    const databaseUrl = await migratedDatabase(service, early.url('postgres'))
    await early.stop()

    const { said, child, exited, output } = start(service, environmentOf(service, databaseUrl))
    await said('"attempt":2')
    expect(output()).not.toContain(new URL(databaseUrl).password)
    const postgres = await startPostgres({ folder: place, port: early.port, durable: false })
    running.push(() => postgres.stop())
    await said('"serving"')
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
  })
})
