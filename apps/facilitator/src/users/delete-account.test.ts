import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { createCatalogStore } from '../catalog/catalog-store'
import { createAccountStore } from '../operations/accounts/operator-account-store'
import { createOriginStore } from '../resources/origins'
import { ADMIN_TOKEN, asAdmin } from '../testing/accounts'
import { bazaarOf } from '../testing/bazaar'
import { testFacilitator, type Api, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { newResource, way } from '../testing/resource'
import { HOOKS, newWebhook } from '../testing/webhooks'
import { newSignedIn, SIGNED_IN, SIGNED_OUT, signIn, type SignedIn } from '../testing/sign-in'
import { DELETED_WITH_ACCOUNT } from './delete-account'

let api: Api
let other: Api
let database: TestFacilitator['database']
beforeAll(async () => {
  const one = await testFacilitator({ variables: { ADMIN_TOKEN, JWT_SECRET: 's'.repeat(32) } })
  ;({ api, database } = one)
  other = (await testFacilitator(one.settings)).api
})
afterAll(closeAll)

const remove = (user: SignedIn, body: object = {}) =>
  api
    .delete('/api/v1/users/me')
    .set(user.authorization)
    .send({ password: user.password, ...body })

async function newKey({ authorization }: SignedIn) {
  const made = await api.post('/api/v1/clients').set(authorization).send({ title: 'Ada’s shop' }).expect(200)
  const { client } = (made.body as { data: { client: { clientId: string; token: string } } }).data
  return { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
}

/** A user with a row in each table that has some. */
async function userWithEverything() {
  const user = await newSignedIn(api)
  const key = await newKey(user)
  await newResource(api, user.accessToken)
  const address = Wallet.createRandom().address
  const reserved = { email: user.email, network: 'base-sepolia', address }
  await api.post('/admin/recipients').set(asAdmin).send(reserved).expect(200)
  await api.post(`/admin/users/${user.id}/password-reset`).set(asAdmin).expect(200)
  await createOriginStore(database).request({ userId: user.id, origin: 'https://shop.example' }, new Date())
  await createCatalogStore(database).catalog({
    userId: user.id,
    x402Version: 2,
    resource: `https://shop.example/${user.id}`,
    origin: 'https://shop.example',
    type: 'http',
    operation: 'GET',
    accepted: way(),
    details: {},
    declared: bazaarOf(),
    paidAt: new Date(),
  })
  const webhook = await newWebhook({ api }, user, { url: 'https://shop.example/ada', description: 'Of Ada' })
  const replay = api.post(`${HOOKS}/${webhook.id}/replay`).set(user.authorization)
  await replay.send({ from: '2026-01-15T12:00:00Z' }).expect(200)
  const invitation = { hash: Buffer.from(user.email), email: user.email, usedAt: new Date() }
  await database.prisma.invitation.create({ data: invitation })
  return { user, key, address }
}

async function rowsOf(userId: number) {
  const counts: Record<string, number> = {}
  for (const table of [...DELETED_WITH_ACCOUNT, 'refresh_tokens']) {
    const text = `SELECT count(*)::int AS count FROM ${table} WHERE user_id = $1`
    counts[table] = (await database.pool.query<{ count: number }>(text, [userId])).rows[0]!.count
  }
  return counts
}
const NO_ROWS = Object.fromEntries([...DELETED_WITH_ACCOUNT, 'refresh_tokens'].map((table) => [table, 0]))

test('a deleted account has no sessions, keys and records on any replica, and its row does not identify the user', async () => {
  const { user, key } = await userWithEverything()
  const neighbour = await userWithEverything()
  const before = await rowsOf(user.id)
  expect(Object.values(before).every((count) => count > 0)).toBe(true)

  const answer = await remove(user).expect(200)
  expect(answer.body).toEqual({ data: { deleted: user.id } })
  for (const at of [other, api]) {
    expect(await user.statusesAt(at)).toEqual(SIGNED_OUT)
    await at.get('/api/v1/supported').set(key).expect(401)
    expect(await neighbour.user.statusesAt(at)).toEqual(SIGNED_IN)
    await at.get('/api/v1/supported').set(neighbour.key).expect(200)
  }
  expect(await rowsOf(user.id)).toEqual(NO_ROWS)
  expect(await rowsOf(neighbour.user.id)).toEqual(before)

  const { pool } = database
  const { rows } = await pool.query<{ row: string }>(
    `SELECT users::text AS row FROM users WHERE id = $1
     UNION ALL SELECT clients::text FROM clients WHERE user_id = $1
     UNION ALL SELECT invitations::text FROM invitations WHERE hash = $2
     UNION ALL SELECT webhook_endpoints::text FROM webhook_endpoints WHERE owner = $1::text
     UNION ALL SELECT webhook_replays::text FROM webhook_replays WHERE owner = $1::text`,
    [user.id, Buffer.from(user.email)],
  )
  expect(rows).toHaveLength(4)
  for (const text of [user.email, 'Ada', '$argon2id$', 'shop.example', 'whsec_'])
    expect(rows.map(({ row }) => row).join()).not.toContain(text)
})

test('its email may sign up again, as another user without what the account had', async () => {
  const { user } = await userWithEverything()
  await remove(user).expect(200)
  const { email, password } = user
  await api.post('/api/v1/login').send({ email, password }).expect(401)
  await api.post('/api/v1/signup').send({ email, password }).expect(200)
  const again = await signIn(api, user)
  expect(again.id).not.toBe(user.id)
  const keys = await api.get('/api/v1/clients').set(again.authorization).expect(200)
  expect(keys.body).toEqual({ data: [] })
  await api
    .post('/api/v1/signup')
    .send({ email: `deleted-${user.id}`, password })
    .expect(400)
})

test('needs the password of the user, and deletes no other user', async () => {
  const [user, stranger] = [await newSignedIn(api), await newSignedIn(api)]
  for (const password of ['a wrong password', '', stranger.password])
    expect(outcomeOf(await remove(user, { password, id: stranger.id, email: stranger.email }))).toEqual([
      403,
      'FORBIDDEN',
    ])
  for (const password of [undefined, 5, 'x'.repeat(1_025)])
    expect(outcomeOf(await remove(user, { password }))).toEqual([400, 'INVALID_REQUEST'])
  await remove(user, { id: stranger.id, email: stranger.email }).expect(200)
  expect(await stranger.statusesAt(api)).toEqual(SIGNED_IN)
  expect(outcomeOf(await api.delete('/api/v1/users/me'))).toEqual([401, 'UNAUTHORIZED'])
})

test('an operator sees it as deleted, and can neither enable it nor reset its password', async () => {
  const user = await newSignedIn(api)
  await remove(user).expect(200)
  const accounts = createAccountStore(database.pool)
  const { users } = await accounts.list(1_000)
  expect(users.find(({ id }) => id === user.id)).toMatchObject({
    isDeleted: true,
    email: `deleted-${user.id}`,
  })
  expect(await accounts.enable({ id: user.id })).toBeUndefined()
  expect(await accounts.resetPassword({ id: user.id })).toBeUndefined()
  await api.post(`/admin/users/${user.id}/password-reset`).set(asAdmin).expect(404)
  const listed = await api.get('/admin/users').set(asAdmin).expect(200)
  expect((listed.body as { data: { id: number }[] }).data.map(({ id }) => id)).not.toContain(user.id)
  // As the command line of an older version would.
  const enabled = database.pool.query('UPDATE users SET disabled_at = NULL WHERE id = $1', [user.id])
  await expect(enabled).rejects.toThrow('users_deleted_at_check')
})

test('each table with rows of a user is emptied, or keeps them for a reason', async () => {
  const kept = {
    clients: 'settlements and fee shares name them',
    refresh_tokens: 'emptied by the statement that ends sessions',
    webhook_endpoints: 'emptied and ended; their deliveries refer to them',
    webhook_replays: 'deleted by the statement that ends webhooks',
    invitations: 'without the email, if they were used',
    http_metrics: 'numbers, without a text of the user',
    client_metrics: 'numbers, without a text of the user',
  }
  const { rows } = await database.pool.query<{ table: string }>(
    `SELECT table_name AS "table" FROM information_schema.columns
     WHERE table_schema = 'public' AND column_name IN ('user_id', 'owner', 'email') AND table_name <> 'users'`,
  )
  const known = [...DELETED_WITH_ACCOUNT, ...Object.keys(kept)]
  expect(rows.map(({ table }) => table).sort()).toEqual(known.sort())
})
