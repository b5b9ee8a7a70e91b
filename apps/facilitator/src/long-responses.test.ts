import { closeAll, eventually } from '@tollgate/testing'
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
