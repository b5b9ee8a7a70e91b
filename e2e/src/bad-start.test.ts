import { createDatabase, migrate } from '@tollgate/database'
import { removePostgres, startPostgres } from '@tollgate/devnet'
import { closeAll, migratedDatabase } from '@tollgate/testing'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SECRET, serviceProcesses, services, type Service } from './testing/service-process'

const processes = serviceProcesses()
const { start, environmentOf, folder } = processes
afterEach(() => processes.stopAll())
afterAll(closeAll)
afterAll(() => {
  for (const service of services) removePostgres(join(folder, service))
  processes.remove()
})

async function migrated(service: Service, url: string) {
  await createDatabase(url)
  await migrate({ url, service })
  return url
}

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
    processes.stopLater(() => holder.close())
    await once(holder, 'listening')
    const { port } = holder.address() as AddressInfo
    const environment = environmentOf(service, await migratedDatabase(service))
    const { exited, output } = start(service, { ...environment, PORT: String(port) })
    expect(await exited).not.toBe(0)
    expect(output()).toMatch(new RegExp(`port ${port}.*in use|${port}.*(busy|taken|in use)`, 'i'))
  })

  test('waits for Postgres at the start, and serves once it is available', async () => {
    const place = join(folder, service)
    const early = await startPostgres({ folder: place, durable: false })
    const databaseUrl = await migrated(service, early.url('gone_for_a_while'))
    await early.stop()

    const { said, child, exited, output } = start(service, environmentOf(service, databaseUrl))
    await said('"attempt":2')
    expect(output()).not.toContain(new URL(databaseUrl).password)
    const postgres = await startPostgres({ folder: place, port: early.port, durable: false })
    processes.stopLater(() => postgres.stop())
    await said('"serving"')
    child.kill('SIGTERM')
    expect(await exited).toBe(0)
  })
})
