import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, asAdmin, newAccount } from '../testing/accounts'
import { testFacilitator, type Api, type TestFacilitator } from '../testing/facilitator'

let open: TestFacilitator
let replicas: [TestFacilitator, TestFacilitator]
beforeAll(async () => {
  open = await testFacilitator({ variables: { ADMIN_TOKEN } })
  const variables = { ADMIN_TOKEN, SIGN_UP: 'invitation' }
  const first = await testFacilitator({ ...open.settings, variables })
  replicas = [first, await testFacilitator(first.settings)]
})
afterAll(closeAll)

type Created = { id: number; email: string | null; expiresAt: string | null; invitation: string }
const invite = async (body: object = {}) =>
  (
    (await replicas[0].api.post('/admin/invitations').set(asAdmin).send(body).expect(200)).body as {
      data: Created
    }
  ).data
const list = async () =>
  ((await replicas[0].api.get('/admin/invitations').set(asAdmin).expect(200)).body as { data: object[] }).data

let count = 0
const account = () => ({ email: `invited-${++count}@example.com`, password: 'correct horse' })
const signUp = async (body: object, { api }: { api: Api } = replicas[0]) =>
  (await api.post('/api/v1/signup').send(body)).status
const remove = (id: number) => replicas[0].api.delete(`/admin/invitations/${id}`).set(asAdmin)

test('an invitation of 256 bits is shown once, stored as a hash, and admits one user', async () => {
  const { invitation, ...created } = await invite()
  expect(Buffer.from(invitation, 'base64url')).toHaveLength(32)
  expect(created).toMatchObject({ email: null, expiresAt: null, usedAt: null })
  const { rows } = await replicas[0].database.pool.query('SELECT * FROM invitations')
  expect([JSON.stringify(rows), JSON.stringify(await list())].join()).not.toContain(invitation)

  expect(await signUp({ ...account(), invitation })).toBe(200)
  expect(await signUp({ ...account(), invitation })).toBe(403)
  expect((await list())[0]).toMatchObject({ id: created.id, usedAt: expect.any(String) as string })
})

test('an invitation makes one user of twenty sign-ups at once on two replicas', async () => {
  for (let round = 0; round < 3; round++) {
    const { invitation } = await invite()
    const before = await replicas[0].database.prisma.user.count()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => signUp({ ...account(), invitation }, replicas[n % 2])),
    )
    expect(answers.filter((status) => status === 200)).toHaveLength(1)
    expect(await replicas[0].database.prisma.user.count()).toBe(before + 1)
  }
})

test('one for an email admits that email only, in any letter case', async () => {
  const bound = account()
  const { invitation } = await invite({ email: bound.email.toUpperCase() })
  expect(await signUp({ ...account(), invitation })).toBe(403)
  expect(await signUp({ ...bound, email: bound.email.toUpperCase(), invitation })).toBe(200)
})

test('one that has expired or was deleted admits none', async () => {
  const expired = await invite({ ttl_hours: 1 })
  await replicas[0].database.pool.query('UPDATE invitations SET expires_at = now() WHERE id = $1', [
    expired.id,
  ])
  expect(await signUp({ ...account(), invitation: expired.invitation })).toBe(403)

  const deleted = await invite()
  await remove(deleted.id).expect(200, { data: { deleted: deleted.id } })
  expect(await signUp({ ...account(), invitation: deleted.invitation })).toBe(403)
})

test('a used one cannot be deleted', async () => {
  const { id, invitation } = await invite()
  expect(await signUp({ ...account(), invitation })).toBe(200)
  await remove(id).expect(404)
})

test('users neither create, see nor delete invitations', async () => {
  const { authorization } = await newAccount(open.api)
  const { id } = await invite()
  const { api } = open
  for (const send of [
    api.post('/admin/invitations').send({}),
    api.get('/admin/invitations'),
    api.delete(`/admin/invitations/${id}`),
    api.get('/api/v1/admin/invitations'),
  ])
    await send.set(authorization).expect(401)
})
