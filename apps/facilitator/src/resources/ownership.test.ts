import { closeAll, closeLater } from '@tollgate/testing'
import { type RegisteredResource } from '@tollgate/protocol'
import { once } from 'node:events'
import http from 'node:http'
import { type AddressInfo } from 'node:net'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { bearer, newResource, registration, resourcesOf } from '../testing/resource'
import { MAX_ORIGINS } from './origins'

const DAY_SECONDS = 86_400

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let aheadMs = 0
const pass = (seconds: number) => (aheadMs += seconds * 1000)

beforeAll(async () => {
  const now = () => new Date(Date.now() + aheadMs)
  facilitator = await testFacilitator({ now })
  api = facilitator.api
})
afterAll(closeAll)

async function startOrigin() {
  const said: { registrants: string[] | undefined; asked: number } = { registrants: [], asked: 0 }
  const server = http.createServer((_req, res) => {
    said.asked++
    if (said.registrants) res.end(JSON.stringify({ version: 1, registrants: said.registrants }))
    else res.writeHead(503).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { said, url: (path: string) => `http://127.0.0.1:${port}/${path}` }
}

const put = (id: number, token: string, changes: object) =>
  api.put(`/api/v1/resources/${id}`).set(bearer(token)).send(registration(changes)).expect(200)
async function recordOf(id: number): Promise<RegisteredResource> {
  const { resources } = await resourcesOf(api, { limit: 200 })
  return resources.find((resource) => resource.id === id)!
}
const stateOf = async (id: number) => {
  const { verified, ownership } = await recordOf(id)
  return [verified, ownership]
}
const check = () => facilitator.ownershipChecks.round()

test('the registry shows who registered a URL: one name for a user, and no email', async () => {
  const [one, other] = [await newUser(api), await newUser(api)]
  const { owner } = await recordOf(await newResource(api, one.accessToken))
  await newResource(api, one.accessToken, { resource: '/path' })
  await newResource(api, other.accessToken)
  const own = (await resourcesOf(api, {}, one.accessToken)).resources.map((resource) => resource.owner)
  expect(own).toEqual([owner, owner])
  const all = await resourcesOf(api, { limit: 200 })
  expect(new Set(all.resources.map((resource) => resource.owner)).size).toBe(2)
  expect(JSON.stringify(all)).not.toContain(one.email)
  expect(owner).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/)
})

test('a URL is verified once its origin names the user that registered it, not another', async () => {
  const { said, url } = await startOrigin()
  const [owner, thief] = [await newUser(api), await newUser(api)]
  const id = await newResource(api, owner.accessToken, { resource: url('weather') })
  const stolen = await newResource(api, thief.accessToken, { resource: url('weather') })
  expect(await stateOf(id)).toEqual([false, 'unchecked'])
  await check()
  expect(await stateOf(id)).toEqual([false, 'not_listed'])

  said.registrants = [(await recordOf(id)).owner]
  pass(60)
  for (const [resource, { accessToken }] of [
    [id, owner],
    [stolen, thief],
  ] as const)
    await put(resource, accessToken, { resource: url('weather') })
  await check()
  expect(await stateOf(id)).toEqual([true, 'verified'])
  expect(await stateOf(stolen)).toEqual([false, 'not_listed'])

  const { verifiedAt } = await recordOf(id)
  expect(Math.abs(Date.parse(verifiedAt ?? '') - (Date.now() + aheadMs))).toBeLessThan(60_000)
  expect((await recordOf(stolen)).verifiedAt).toBeNull()

  await newResource(api, owner.accessToken, { resource: url('another') })
  await put(id, owner.accessToken, { resource: 'https://elsewhere.example/weather' })
  expect(await stateOf(id)).toEqual([false, 'unchecked'])
})

test("an admin's change of a user's resource proves nothing for the admin", async () => {
  const { said, url } = await startOrigin()
  const { accessToken } = await newUser(api)
  const id = await newResource(api, accessToken, { resource: url('weather') })
  said.registrants = [(await recordOf(id)).owner]
  const admin = await newUser(api)
  await facilitator.database.prisma.user.update({ where: { email: admin.email }, data: { isAdmin: true } })
  await put(id, admin.accessToken, { resource: url('changed') })
  await check()
  expect(await stateOf(id)).toEqual([true, 'verified'])
})

test('a proof is checked daily, ends when it is withdrawn, and survives an outage of seven days', async () => {
  const { said, url } = await startOrigin()
  const { email, password, accessToken } = await newUser(api)
  const id = await newResource(api, accessToken, { resource: url('weather') })
  said.registrants = [(await recordOf(id)).owner]
  await check()
  await check()
  expect([await stateOf(id), said.asked]).toEqual([[true, 'verified'], 1])

  const names = said.registrants
  said.registrants = undefined
  pass(DAY_SECONDS)
  await check()
  expect([await stateOf(id), said.asked]).toEqual([[true, 'unreachable'], 2])
  said.registrants = names
  pass(DAY_SECONDS)
  await check()
  expect(await stateOf(id)).toEqual([true, 'verified'])

  said.registrants = undefined
  for (let days = 0; days < 8; days++) {
    pass(DAY_SECONDS)
    await check()
  }
  expect(await stateOf(id)).toEqual([false, 'unreachable'])

  said.registrants = names
  const login = await api.post('/api/v1/login').send({ email, password }).expect(200)
  const { access_token: later } = (login.body as { data: { access_token: string } }).data
  await put(id, later, { resource: url('weather') })
  await check()
  expect(await stateOf(id)).toEqual([true, 'verified'])
  said.registrants = []
  pass(DAY_SECONDS)
  await check()
  expect(await stateOf(id)).toEqual([false, 'not_listed'])
})

test('an origin gets at most one request a minute, for any number of resources, requests and replicas', async () => {
  const { said, url } = await startOrigin()
  const { accessToken } = await newUser(api)
  const { databaseUrl } = facilitator
  const now = () => new Date(Date.now() + aheadMs)
  const replica = await testFacilitator({ databaseUrl, now })
  for (let count = 0; count < 10; count++)
    await newResource(api, accessToken, { resource: url(String(count)) })
  await Promise.all([check(), replica.ownershipChecks.round()])
  expect(said.asked).toBe(1)
  const id = await newResource(api, accessToken, { resource: url('late') })
  await check()
  expect(said.asked).toBe(1)
  pass(60)
  await put(id, accessToken, { resource: url('late') })
  await Promise.all([check(), replica.ownershipChecks.round()])
  expect(said.asked).toBe(2)
})

test('a check whose replica died is repeated by another after a minute', async () => {
  const { said, url } = await startOrigin()
  const { accessToken } = await newUser(api)
  await newResource(api, accessToken, { resource: url('weather') })
  const { pool } = facilitator.database
  await pool.query(
    `UPDATE resource_origins SET attempted_at = $2::timestamptz, due_at = $2::timestamptz + INTERVAL '1 minute' WHERE origin = $1`,
    [new URL(url('')).origin, new Date(Date.now() + aheadMs)],
  )
  await check()
  expect(said.asked).toBe(0)
  pass(60)
  await check()
  expect(said.asked).toBe(1)
})

test('a user has a limit of checks per minute, and of origins', async () => {
  const limited = await testFacilitator({
    databaseUrl: facilitator.databaseUrl,
    variables: { OWNERSHIP_CHECKS_PER_MINUTE: '3' },
    now: () => new Date(Date.now() + aheadMs),
  })
  const count = async (email: string) => {
    const { rows } = await facilitator.database.pool.query<{ count: number }>(
      `SELECT count(*)::int FROM resource_origins JOIN users ON users.id = user_id WHERE email = $1`,
      [email],
    )
    return rows[0]?.count
  }
  const [hasty, large] = [await newUser(limited.api), await newUser(api)]
  for (let index = 0; index < 5; index++)
    await newResource(limited.api, hasty.accessToken, { resource: `https://shop-${index}.example/` })
  expect(await count(hasty.email)).toBe(3)
  for (let index = 0; index < MAX_ORIGINS + 3; index++)
    await newResource(api, large.accessToken, { resource: `https://shop-${index}.example/` })
  expect(await count(large.email)).toBe(MAX_ORIGINS)
  await facilitator.database.pool.query('DELETE FROM resource_origins')
})

test('without NODE_ENV no request goes to this machine, neither of a check nor of a webhook', async () => {
  const { said, url } = await startOrigin()
  const guarded = await testFacilitator({ variables: { NODE_ENV: '' } })
  const { accessToken } = await newUser(guarded.api)
  await newResource(guarded.api, accessToken, { resource: url('weather') })
  await guarded.ownershipChecks.round()
  const { resources } = await resourcesOf(guarded.api, {}, accessToken)
  expect(resources.map(({ ownership }) => ownership)).toEqual(['unreachable'])
  const hook = { url: url('hooks') }
  await guarded.api.post('/api/v1/webhooks').set(bearer(accessToken)).send(hook).expect(400, /"url/)
  expect(said.asked).toBe(0)
})
