import { closeAll } from '@tollgate/testing'
import { createCatalogStore } from '../catalog/catalog-store'
import { createAccountStore } from '../operations/accounts/operator-account-store'
import { bazaarOf } from '../testing/bazaar'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { newResource, PAY_TO, way } from '../testing/resource'

let facilitator: TestFacilitator
beforeAll(async () => (facilitator = await testFacilitator()))
afterAll(closeAll)

const url = (path: string) => `https://shop.example/${path}`

/** A user with a registered resource, and one that a payment cataloged. */
async function newMerchant(name: string) {
  const { api, database } = facilitator
  const user = await newUser(api)
  const { id } = await database.prisma.user.findUniqueOrThrow({ where: { email: user.email } })
  await newResource(api, user.accessToken, {
    resource: url(name),
    x402Version: 2,
    metadata: { description: 'weather' },
  })
  await createCatalogStore(database).catalog({
    userId: id,
    x402Version: 2,
    resource: url(`${name}-paid`),
    origin: 'https://shop.example',
    type: 'http',
    operation: 'GET',
    accepted: way(),
    details: { description: 'weather' },
    declared: bazaarOf(),
    paidAt: new Date(),
  })
  return user
}

async function shown() {
  const get = async (path: string) => (await facilitator.api.get(path).expect(200)).body as object
  const listed = (await get('/api/v2/discovery/resources')) as Page
  const merchant = (await get(`/discovery/merchant?payTo=${PAY_TO}`)) as Page
  const found = (await get('/discovery/search?query=weather')) as Page
  const registry = ((await get('/api/v1/resources')) as { data: Page }).data
  const names = (resources: { resource: string }[] = []) =>
    resources.map(({ resource }) => resource.slice(url('').length)).sort()
  return {
    registry: names(registry.resources),
    listed: [names(listed.items), listed.pagination.total],
    merchant: [names(merchant.resources), merchant.pagination.total],
    found: names(found.resources),
  }
}
type Resources = { resource: string }[]
type Page = { items?: Resources; resources?: Resources; pagination: { total: number } }

const of = (...names: string[]) => {
  const all = names.flatMap((name) => [name, `${name}-paid`])
  return { registry: names, listed: [all, all.length], merchant: [all, all.length], found: all }
}

test('resources of a disabled account are in no list, search or total, and again once it is enabled', async () => {
  const accounts = createAccountStore(facilitator.database.pool)
  const [honest, abuser] = [await newMerchant('a'), await newMerchant('b')]
  expect(await shown()).toEqual(of('a', 'b'))
  await accounts.disable({ email: abuser.email })
  expect(await shown()).toEqual(of('a'))
  await accounts.enable({ email: abuser.email })
  expect(await shown()).toEqual(of('a', 'b'))

  const { api } = facilitator
  await api
    .delete('/api/v1/users/me')
    .set('Authorization', `Bearer ${honest.accessToken}`)
    .send({ password: honest.password })
    .expect(200)
  expect(await shown()).toEqual(of('b'))
})
