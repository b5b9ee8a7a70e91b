import { type SettleResult } from '@tollgate/protocol'
import { type PoolClient } from '@tollgate/database'
import { closeAll } from '@tollgate/testing'
import { createEndpointStore } from '@tollgate/webhooks'
import { createCatalogStore } from '../catalog/catalog-store'
import { createClientStore } from '../clients/store'
import { createRecipientStore } from '../recipients/store'
import { createOriginStore } from '../resources/origins'
import { createResourceStore } from '../resources/store'
import { bazaarOf, declaredPayment } from '../testing/bazaar'
import { newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { testFacilitator, type Api, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { withManualMining } from '../testing/manual-mining'
import { paymentRequest } from '../testing/payment'
import { way } from '../testing/resource'
import { whileBlocked } from '../testing/row-locks'
import { newSignedIn, SIGNED_IN, signIn, type SignedIn } from '../testing/sign-in'
import { createPasswordStore } from './password-store'

let api: Api
let facilitator: TestFacilitator
let database: TestFacilitator['database']
beforeAll(async () => {
  facilitator = await testFacilitator()
  ;({ api, database } = facilitator)
})
afterAll(closeAll)

const remove = ({ authorization, password }: SignedIn, at = api) =>
  at.delete('/api/v1/users/me').set(authorization).send({ password })

async function keyOf({ authorization }: SignedIn, at = api): Promise<ClientHeaders> {
  const made = await at.post('/api/v1/clients').set(authorization).send({ title: 'Shop' }).expect(200)
  const { client } = (made.body as { data: { client: { clientId: string; token: string } } }).data
  return { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
}

test('a payment that was claimed before is settled, and its request is answered', async () => {
  const on = await withManualMining()
  const merchant = await newSignedIn(on.facilitator.api)
  const key = await keyOf(merchant, on.facilitator.api)
  const body = await paymentRequest(await newPayer(on.rpcUrl))
  await on.mine()
  const settling = on.settle(body, key)
  await on.onTheirWay(1)
  await remove(merchant, on.facilitator.api).expect(200)
  await on.mineUntil("settlements WHERE status = 'settled'", 1)
  expect(await settling).toMatchObject({ success: true })
  const again = await on.facilitator.api.post('/api/v1/settle').set(key).send(body)
  expect(again.status).toBe(401)
})

test('of settles beside the deletion each is paid or refused, and nothing of them is cataloged', async () => {
  const rpcUrl = sharedChain()
  const merchant = await newSignedIn(api)
  const key = await keyOf(merchant)
  const payers = await Promise.all(Array.from({ length: 8 }, () => newPayer(rpcUrl)))
  const settles = payers.map(async (payer, index) => {
    const body = await declaredPayment(payer)
    if (index === 4) await remove(merchant).expect(200)
    const answer = await api.post('/settle').set(key).send(body)
    return { payer: payer.address, status: answer.status, result: answer.body as SettleResult }
  })
  const outcomes = await Promise.all(settles)
  await facilitator.cataloger.flush()
  expect(outcomes[4]).toMatchObject({ status: 401 })
  const served = outcomes.filter(({ status }) => status !== 401)
  for (const { payer, result } of served) {
    if (result.success) expect(await transfersFrom(rpcUrl, payer)).toHaveLength(1)
    else expect(result).toMatchObject({ errorReason: 'settlement_pending' })
  }
  const claimed = await database.prisma.settlement.findMany({ where: { clientId: key['X-Client-ID'] } })
  expect(claimed.map(({ payer }) => payer).sort()).toEqual(served.map(({ payer }) => payer).sort())
  expect(await database.prisma.catalogedResource.count({ where: { userId: merchant.id } })).toBe(0)
  const after = await api
    .post('/settle')
    .set(key)
    .send(await declaredPayment(await newPayer(rpcUrl)))
  expect(after.status).toBe(401)
})

test('of logins, changes of the password and other deletions beside it none has an effect after it', async () => {
  const user = await newSignedIn(api)
  const { email, password } = user
  const others = await Promise.all(Array.from({ length: 4 }, () => signIn(api, user)))
  const change = { current_password: password, new_password: 'another password' }
  const answers = await Promise.all([
    ...others.map((one) => remove(one)),
    ...others.map(({ authorization }) => api.post('/api/v1/password').set(authorization).send(change)),
    ...others.map(() => api.post('/api/v1/login').send({ email, password })),
  ])
  const deletions = answers.slice(0, 4).filter(({ status }) => status === 200)
  const changes = answers.slice(4, 8).filter(({ status }) => status === 200)
  expect(deletions.length + changes.length).toBe(1)
  expect(answers.filter(({ status }) => ![200, 401, 403].includes(status))).toEqual([])
  if (deletions.length === 0) return
  expect(await database.prisma.refreshToken.count({ where: { userId: user.id } })).toBe(0)
})

test('a deletion that compared the old password while it was changed deletes nothing', async () => {
  const user = await newSignedIn(api)
  const status = await whileBlocked(
    database.pool,
    (changing) =>
      changing.query(`UPDATE users SET password_hash = password_hash || 'x' WHERE id = $1`, [user.id]),
    () => remove(user).then((answer) => answer.status),
  )
  expect(status).toBe(403)
  expect(await user.statusesAt(api)).toEqual(SIGNED_IN)
})

describe('beside a deletion that has not committed', () => {
  const deleting = (userId: number) => (session: PoolClient) =>
    session.query(
      `UPDATE users SET email = 'deleted-' || id, password_hash = '', deleted_at = now(), disabled_at = now() WHERE id = $1`,
      [userId],
    )
  const rows = async (table: string, userId: number) => {
    const user = table === 'webhook_endpoints' ? 'owner::int' : 'user_id'
    const text = `SELECT count(*)::int AS count FROM ${table} WHERE ${user} = $1`
    return (await database.pool.query<{ count: number }>(text, [userId])).rows[0]!.count
  }
  const resource = {
    resource: 'https://shop.example/x',
    type: 'endpoint',
    x402Version: 1 as const,
    accepts: [way()],
    metadata: {},
  }
  const entry = {
    x402Version: 2,
    resource: 'https://shop.example/x',
    origin: 'https://shop.example',
    type: 'http',
    operation: 'GET',
    accepted: way(),
    details: {},
    declared: bazaarOf(),
    paidAt: new Date(),
  } as const
  const key = {
    title: 'Shop',
    scope: [],
    createdAt: new Date(),
    expiresAt: null,
    payTo: [],
    maxFeesPerDay: null,
    maxPaymentsPerMinute: null,
  }
  const webhook = { url: 'https://shop.example/hooks', events: [], description: '', threshold: null }
  const recipient = { network: 'base-sepolia', address: '0x1', proof: 'operator' } as const

  test.each<[string, (userId: number) => Promise<unknown>]>([
    ['clients', (userId) => createClientStore(database).create({ userId, ...key })],
    ['resources', (userId) => createResourceStore(database).create(userId, resource, new Date())],
    [
      'resource_origins',
      (userId) => createOriginStore(database).request({ userId, origin: 'https://shop.example' }, new Date()),
    ],
    [
      'reserved_recipients',
      (userId) => createRecipientStore(database.pool).reserve({ userId, ...recipient }),
    ],
    ['cataloged_resources', (userId) => createCatalogStore(database).catalog({ userId, ...entry })],
    ['webhook_endpoints', (userId) => createEndpointStore(database.pool).create(String(userId), webhook)],
    ['password_resets', (userId) => createPasswordStore(database.pool).issueReset(userId)],
  ])('no row is added to %s', async (table, add) => {
    const user = await newSignedIn(api)
    await whileBlocked(database.pool, deleting(user.id), () => add(user.id))
    expect(await rows(table, user.id)).toBe(0)
    const neighbour = await newSignedIn(api)
    await add(neighbour.id)
    expect(await rows(table, neighbour.id)).toBe(1)
  })

  test('no session starts', async () => {
    const user = await newSignedIn(api)
    const { email, password } = user
    const status = await whileBlocked(database.pool, deleting(user.id), () =>
      api
        .post('/api/v1/login')
        .send({ email, password })
        .then((answer) => answer.status),
    )
    expect(status).toBe(401)
    expect(await rows('refresh_tokens', user.id)).toBe(2)
  })
})
