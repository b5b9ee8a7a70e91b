import { EventEmitter, once } from 'node:events'
import { closeServer, createBaseApp, createLogger, createServer, listen } from '@tollgate/service'
import { closeAll, closeLater, eventually } from '@tollgate/testing'
import { type Request, type Response as ExpressResponse } from 'express'
import { createBulkhead } from './bulkhead'
import { paymentRequest } from './testing/payment'
import { newPayer, sharedChain } from './testing/chain'
import { newUser, type ClientHeaders, type TestFacilitator } from './testing/facilitator'
import { facilitatorWithClient } from './testing/facilitator-with-client'

let facilitator: TestFacilitator
let client: ClientHeaders
beforeAll(async () => {
  ;({ facilitator, client } = await facilitatorWithClient())
})
afterAll(closeAll)

const PER_CALLER = 10

const get = async (path: string, headers: Record<string, string> = {}) =>
  fetch(`${facilitator.url}/api/v1${path}`, { headers })
const bearers = async (count: number) =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const { accessToken } = await newUser(facilitator.api)
      return { Authorization: `Bearer ${accessToken}` }
    }),
  )

async function locked(table: string) {
  const connection = await facilitator.database.pool.connect()
  await connection.query(`begin; lock table ${table} in access exclusive mode`)
  return async () => {
    await connection.query('COMMIT')
    connection.release()
  }
}

async function waitForBlockedQuery(table: string) {
  const deadline = Date.now() + 20_000
  for (;;) {
    const { rowCount } = await facilitator.database.pool.query(
      `SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass AND mode = 'AccessShareLock'`,
      [table],
    )
    if (rowCount) return
    if (Date.now() > deadline) throw new Error('no query waits for the lock')
  }
}

const counted = (answers: readonly Response[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

async function expectPayments() {
  const body = await paymentRequest(await newPayer(sharedChain()))
  for (const operation of ['verify', 'settle']) {
    const answer = await facilitator.api.post(`/api/v1/${operation}`).set(client).send(body).expect(200)
    expect(answer.body).toMatchObject(operation === 'verify' ? { isValid: true } : { success: true })
  }
}

describe('long responses that wait for the database do not delay payments', () => {
  test.each(['/metrics/summary', '/metrics/daily', '/metrics/monthly'])('%s', async (path) => {
    const users = await bearers(3)
    const release = await locked('client_metrics')
    const reports = users.flatMap((bearer) => Array.from({ length: PER_CALLER + 2 }, () => get(path, bearer)))
    await waitForBlockedQuery('client_metrics')
    await expectPayments()
    await release()
    const answers = await Promise.all(reports)
    expect(counted(answers)).toEqual({ 200: 3 * PER_CALLER, 503: 3 * 2 })
    const refused = answers.find(({ status }) => status === 503)
    expect(refused?.headers.get('retry-after')).toBe('2')
    expect(await refused?.json()).toMatchObject({ code: 'OVERLOADED' })
  })

  test.each(['/resources', '/discovery/resources', '/users/resources', '/../v2/discovery/resources'])(
    '%s',
    async (path) => {
      const [bearer] = await bearers(1)
      const release = await locked('resources')
      const pages = Array.from({ length: PER_CALLER + 2 }, () => get(path, bearer))
      await waitForBlockedQuery('resources')
      await expectPayments()
      await release()
      expect(counted(await Promise.all(pages))).toEqual({ 200: PER_CALLER, 503: 2 })
    },
  )

  test('/clients of all users, for an admin', async () => {
    const { email, accessToken } = await newUser(facilitator.api)
    await facilitator.database.prisma.user.update({ where: { email }, data: { isAdmin: true } })
    const bearer = { Authorization: `Bearer ${accessToken}` }
    const release = await locked('clients')
    const pages = Array.from({ length: PER_CALLER + 2 }, () => get('/clients', bearer))
    const text = `SELECT FROM pg_locks WHERE NOT granted AND relation = 'clients'::regclass`
    await eventually(
      () => facilitator.database.pool.query(text),
      ({ rowCount }) => rowCount === 2,
    )
    await release()
    expect(counted(await Promise.all(pages))).toEqual({ 200: PER_CALLER, 503: 2 })
  })
})

test('requests run in order; a disconnected one leaves the queue, and one above the limit is refused', async () => {
  const limited = createBulkhead({ atOnce: 1, waiting: 2, perCaller: 10 })
  const began = new EventEmitter()
  const closed = new EventEmitter()
  const ran: unknown[] = []
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const server = createServer(
    createBaseApp({
      logger: createLogger({ service: 'test', level: 'error' }),
      now: () => new Date(),
      routes(app) {
        app.use((req, res, next) => {
          res.once('close', () => closed.emit(req.path))
          began.emit(req.path)
          next()
        })
        const handler = async ({ path }: Request, res: ExpressResponse) => {
          ran.push(path)
          await finished
          res.json(path)
        }
        app.get('/:name', limited(handler))
      },
    }),
  )
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  closeLater(() => closeServer(server, { graceSeconds: 0 }))
  const ask = async (path: string, init: RequestInit = {}) => {
    const arrived = once(began, path)
    const answer = fetch(`http://127.0.0.1:${port}${path}`, init).catch(() => undefined)
    await arrived
    return { status: answer.then((response) => response?.status) }
  }

  const first = await ask('/first')
  const leaving = new AbortController()
  await ask('/left', { signal: leaving.signal })
  const second = await ask('/second')
  expect(await (await ask('/refused')).status).toBe(503)
  const left = once(closed, '/left')
  leaving.abort()
  await left
  const third = await ask('/third')
  finish()
  expect(await Promise.all([first.status, second.status, third.status])).toEqual([200, 200, 200])
  expect(ran).toEqual(['/first', '/second', '/third'])
})
