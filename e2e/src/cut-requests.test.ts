import { closeAll, migratedDatabase } from '@tollgate/testing'
import { once } from 'node:events'
import { connect } from 'node:net'
import { serviceProcesses, services, type Service } from './testing/service-process'

const LOGIN: Record<Service, string> = { gateway: '/auth/login', facilitator: '/api/v1/login' }
/** With an UPSTREAM_TIMEOUT_SECONDS of 1. */
const GRACE_SECONDS: Record<Service, number> = { gateway: 12, facilitator: 10 }

const processes = serviceProcesses()
afterEach(() => processes.stopAll())
afterAll(closeAll)
afterAll(() => processes.remove())

/** Sends a body byte by byte, which would take a minute. */
async function slowRequest(service: Service, port: number) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  const head =
    'Host: a\r\nContent-Type: application/json\r\nContent-Length: 60\r\nExpect: 100-continue\r\n\r\n'
  socket.write(`POST ${LOGIN[service]} HTTP/1.1\r\n${head}`)
  await once(socket, 'data')
  const writing = setInterval(() => socket.write(' '), 1_000)
  processes.stopLater(() => clearInterval(writing))
  return { closed }
}

const portIn = (output: string) => Number(/"message":"serving".*?"port":(\d+)/.exec(output)?.[1])

test.each(services)(
  'a %s that is stopped ends a request that takes too long, says so, and exits with 0',
  async (service) => {
    const environment = processes.environmentOf(service, await migratedDatabase(service))
    const { child, said, exited, output } = processes.start(service, {
      ...environment,
      ...(service === 'gateway' && { UPSTREAM_TIMEOUT_SECONDS: '1' }),
    })
    await said('"serving"')
    const { closed } = await slowRequest(service, portIn(output()))
    const allRead = once(child, 'close')
    const stoppedAt = performance.now()
    child.kill('SIGTERM')
    await closed
    expect(performance.now() - stoppedAt).toBeGreaterThan(GRACE_SECONDS[service] * 1000 - 100)
    expect(await exited).toBe(0)
    await allRead
    const [warning, ...more] = output()
      .split('\n')
      .filter((line) => line.includes('requests cut off'))
    expect(JSON.parse(warning ?? '{}')).toMatchObject({ level: 'warn', graceSeconds: GRACE_SECONDS[service] })
    expect(more).toEqual([])
  },
)
