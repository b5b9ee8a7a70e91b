import { type OperatorAsset, type OperatorUser } from '@tollgate/protocol'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, readableLog } from '@tollgate/testing'
import { ADMIN_TOKEN, asAdmin, newAccount } from '../../testing/accounts'
import { testFacilitator, type TestFacilitator } from '../../testing/facilitator'
import { outcomeOf } from '../../testing/outcome'

const log = readableLog()
let facilitator: TestFacilitator
let api: TestFacilitator['api']
beforeAll(async () => {
  facilitator = await testFacilitator({ variables: { ADMIN_TOKEN }, log: log.stream })
  api = facilitator.api
})
afterAll(closeAll)

const post = (path: string) => api.post(`/admin/${path}`).set(asAdmin)

describe('assets', () => {
  type Page = { assets: OperatorAsset[]; next: string | null }
  const pageOf = async (query: object = {}) =>
    ((await api.get('/admin/assets').set(asAdmin).query(query).expect(200)).body as { data: Page }).data
  const publicAssets = async () =>
    ((await api.get('/api/v1/assets').expect(200)).body as { data: object[] }).data

  test('are listed with their suspension, in pages, also those that are out of use', async () => {
    await facilitator.database.pool.query(
      `INSERT INTO assets (network, asset, symbol, decimals, active, suspended_at, suspension)
       VALUES ('gone', 'uone', 'ONE', 6, false, now(), 'it moved another amount'), ('gone', 'utwo', 'TWO', 6, false, NULL, NULL)`,
    )
    const first = await pageOf({ limit: 2 })
    expect(first.assets).toMatchObject([
      { network: 'base-sepolia', asset: USDC_ADDRESS, symbol: 'USDC', active: true, suspendedAt: null },
      {
        network: 'gone',
        asset: 'uone',
        active: false,
        suspendedAt: expect.stringMatching(/Z$/) as string,
        suspension: 'it moved another amount',
      },
    ])
    const second = await pageOf({ limit: 2, cursor: first.next })
    expect([second.assets.map(({ symbol }) => symbol), second.next]).toEqual([['TWO'], null])
  })

  test('are taken out of use and back, and a suspension ends with it', async () => {
    const [asset] = (await pageOf()).assets
    const retired = await post(`assets/${asset!.id}/deactivate`).expect(200)
    expect(retired.body).toEqual({ data: { ...asset, active: false } })
    expect(await publicAssets()).toEqual([])
    await facilitator.database.pool.query(
      `UPDATE assets SET suspended_at = now(), suspension = 'a fault' WHERE id = $1`,
      [asset!.id],
    )
    expect((await post(`assets/${asset!.id}/activate`).expect(200)).body).toEqual({ data: asset })
    expect(await publicAssets()).toHaveLength(1)
    expect(log.lines().filter(({ message }) => message === 'operator action')).toMatchObject([
      {
        action: 'POST /assets/:id/deactivate',
        assetId: asset!.id,
        network: 'base-sepolia',
        asset: USDC_ADDRESS,
      },
      { action: 'POST /assets/:id/activate', assetId: asset!.id },
    ])
  })

  test('whose token fails the simulation stay out of use', async () => {
    const { rows } = await facilitator.database.pool.query<{ id: number }>(
      `INSERT INTO assets (network, asset, symbol, decimals, active) VALUES ('base-sepolia', $1, 'NONE', 6, false) RETURNING id`,
      [`0x${'1'.repeat(40)}`],
    )
    const refused = await post(`assets/${rows[0]!.id}/activate`)
    expect(outcomeOf(refused)).toEqual([409, 'CONFLICT'])
    expect(await publicAssets()).toHaveLength(1)
  })

  test('of a network that is not served can be taken out of use, and not activated', async () => {
    const gone = (await pageOf()).assets.find(({ symbol }) => symbol === 'TWO')
    expect(outcomeOf(await post(`assets/${gone!.id}/activate`))).toEqual([400, 'INVALID_REQUEST'])
    await post(`assets/${gone!.id}/deactivate`).expect(200)
    for (const verb of ['activate', 'deactivate'])
      expect(outcomeOf(await post(`assets/99999/${verb}`))).toEqual([404, 'NOT_FOUND'])
  })
})

describe('users', () => {
  const usersOf = async (query: object) =>
    ((await api.get('/admin/users').set(asAdmin).query(query).expect(200)).body as { data: OperatorUser[] })
      .data

  test('are found by the beginning of their email', async () => {
    const one = await newAccount(api)
    await one.newKey()
    await newAccount(api)
    expect(await usersOf({ email: one.email.slice(0, 8).toUpperCase() })).toEqual([
      {
        id: expect.any(Number) as number,
        email: one.email,
        isAdmin: false,
        createdAt: expect.stringMatching(/Z$/) as string,
        disabledAt: null,
        feeSharePercent: null,
        liveKeys: 1,
      },
    ])
    for (const email of ['%', '_', `${one.email}x`])
      expect([email, await usersOf({ email })]).toEqual([email, []])
  })

  test('lose all access while they are disabled', async () => {
    const account = await newAccount(api)
    const key = await account.newKey()
    const [user] = await usersOf({ email: account.email })
    const supported = () => api.get('/api/v1/supported').set(key)
    const disabled = await post(`users/${user!.id}/disable`).expect(200)
    expect(disabled.body).toEqual({ data: { ...user, disabledAt: expect.stringMatching(/Z$/) as string } })
    await supported().expect(401)
    await api.get('/api/v1/clients').set(account.authorization).expect(401)
    expect((await post(`users/${user!.id}/disable`).expect(200)).body).toEqual(disabled.body)
    expect((await post(`users/${user!.id}/enable`).expect(200)).body).toEqual({ data: user })
    await supported().expect(200)
    expect(
      log.lines().filter(({ message, userId }) => message === 'operator action' && userId === user!.id),
    ).toMatchObject([
      { action: 'POST /users/:id/disable' },
      { action: 'POST /users/:id/disable' },
      { action: 'POST /users/:id/enable' },
    ])
    for (const verb of ['disable', 'enable'])
      expect(outcomeOf(await post(`users/99999/${verb}`))).toEqual([404, 'NOT_FOUND'])
  })
})

test('the log of actions has facts and no secrets', async () => {
  const password = 'a secret password of a new user'
  await post('users').send({ email: 'new@example.com', password }).expect(200)
  const invited = await post('invitations').send({}).expect(200)
  const { invitation, id } = (invited.body as { data: { invitation: string; id: number } }).data
  await api.delete(`/admin/invitations/${id}`).set(asAdmin).expect(200)
  const address = `0x${'2'.repeat(40)}`
  await post('denied-addresses').send({ address, note: 'a private note' }).expect(200)
  await post('denied-addresses').send({ address: 'none' }).expect(400)
  const actions = log.lines().filter(({ message }) => message === 'operator action')
  expect(actions.slice(-4)).toMatchObject([
    { action: 'POST /users', userId: expect.any(Number) as number, isAdmin: false },
    { action: 'POST /invitations', invitationId: id },
    { action: 'DELETE /invitations/:id', invitationId: id },
    { action: 'POST /denied-addresses', address },
  ])
  const text = JSON.stringify(log.lines())
  for (const secret of [password, invitation, ADMIN_TOKEN, 'a private note'])
    expect(text).not.toContain(secret)
})
