import { closeAll } from '@tollgate/testing'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { newResource, way } from '../testing/resource'
import { settlementRows } from '../testing/settlement-rows'

let facilitator: TestFacilitator
beforeEach(async () => (facilitator = await testFacilitator()))
afterEach(closeAll)

const HONEST = 'https://shop.example/weather'

/** Registers 700 resources that match better, before the honest one: of one user, or of as many users. */
async function crowd(users: number) {
  await facilitator.database.pool.query(
    `WITH crowd AS (
       INSERT INTO users (email, password_hash) SELECT 'crowd' || n, '' FROM generate_series(1, $1::int) AS n RETURNING id
     )
     INSERT INTO resources (user_id, resource, type, x402_version, accepts, metadata, updated_at)
     SELECT id, 'https://crowd' || id || '.example/' || n, 'http', 2, jsonb_build_array($2::jsonb),
       '{"description": "weather, weather, weather"}', now()
     FROM crowd, generate_series(1, 700 / $1::int) AS n`,
    [users, JSON.stringify(way())],
  )
}

async function registerHonest() {
  const user = await newUser(facilitator.api)
  for (const path of ['', '/oslo'])
    await newResource(facilitator.api, user.accessToken, {
      resource: HONEST + path,
      x402Version: 2,
      metadata: { description: 'The weather' },
    })
  const { id } = await facilitator.database.prisma.user.findUniqueOrThrow({ where: { email: user.email } })
  return id
}

async function found() {
  const urls: string[] = []
  for (let cursor: string | null = '0'; cursor !== null;) {
    const answer = await facilitator.api
      .get('/discovery/search')
      .query({ query: 'weather', limit: 100, cursor })
      .expect(200)
    const page = answer.body as { resources: { resource: string }[]; pagination: { cursor: string | null } }
    urls.push(...page.resources.map(({ resource }) => resource))
    cursor = page.pagination.cursor
  }
  expect(new Set(urls).size).toBe(urls.length)
  return urls
}

test('of many registrations of one user, a search shows some, and those of others in turn', async () => {
  await crowd(1)
  await registerHonest()
  const urls = await found()
  expect(urls).toHaveLength(500)
  expect(urls.slice(0, 4)).toEqual(expect.arrayContaining([HONEST, `${HONEST}/oslo`]))
})

test.each<[string, (userId: number) => Promise<unknown>]>([
  [
    'a proven origin',
    (userId) =>
      facilitator.database.pool.query(
        `INSERT INTO resource_origins (user_id, origin, verified_at, result) VALUES ($1, 'https://shop.example', now(), 'verified')
         ON CONFLICT (user_id, origin) DO UPDATE SET verified_at = now(), result = 'verified'`,
        [userId],
      ),
  ],
  [
    'a settled payment',
    async (userId) => {
      const rows = settlementRows(facilitator.database.pool)
      await rows.settlement(await rows.client(userId), { status: 'settled' })
    },
  ],
])(
  'of one registration each of many users, a search shows those of an owner with %s first',
  async (_, know) => {
    await crowd(700)
    await know(await registerHonest())
    const urls = await found()
    expect(urls).toHaveLength(500)
    expect(urls.slice(0, 2).sort()).toEqual([HONEST, `${HONEST}/oslo`])
  },
)
