import { once } from 'node:events'
import { connect } from 'node:net'
import { setInterval as every } from 'node:timers'
import {
  newDatabase,
  serviceProcesses,
  services,
  testPostgres,
  type Service,
} from './testing/service-process'

const LOGIN: Record<Service, string> = { gateway: '/auth/login', facilitator: '/api/v1/login' }
/** The gateway's for an UPSTREAM_TIMEOUT_SECONDS of 1. */
const GRACE_SECONDS: Record<Service, number> = { gateway: 12, facilitator: 10 }

const processes = serviceProcesses()
afterEach(() => processes.stopAll())
afterAll(() => processes.remove())

/** Of a body that arrives byte by byte, and would need a minute. */
async function slowRequest(service: Service, port: number) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const closed = once(socket, 'close')
  const head =
    'Host: a\r\nContent-Type: application/json\r\nContent-Length: 60\r\nExpect: 100-continue\r\n\r\n'
  socket.write(`POST ${LOGIN[service]} HTTP/1.1\r\n${head}`)
  await once(socket, 'data')
  const writing = every(() => socket.write(' '), 1_000)
  processes.stopLater(() => clearInterval(writing))
  return { closed }
}

const portIn = (output: string) => Number(/"message":"serving".*?"port":(\d+)/.exec(output)?.[1])

test.each(services)(
  'a %s that is stopped ends a request that takes too long, says so, and exits with 0',
  async (service) => {
    const environment = processes.environmentOf(service, await newDatabase(service, testPostgres()))
    const { child, said, exited, output } = processes.start(service, {
      ...environment,
      ...(service === 'gateway' && { UPSTREAM_TIMEOUT_SECONDS: '1' }),
    })
    await said('"serving"')
    const { closed } = await slowRequest(service, portIn(output()))
    child.kill('SIGTERM')
    await closed
    expect(await exited).toBe(0)
    const [warning, ...more] = output()
      .split('\n')
      .filter((line) => line.includes('requests cut off'))
    expect(JSON.parse(warning ?? '{}')).toMatchObject({ level: 'warn', graceSeconds: GRACE_SECONDS[service] })
    expect(more).toEqual([])
  },
  60_000,
)
