import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, newAccount } from '../testing/accounts'
import { testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'

const LIMIT = 6
const variables = {
  ADMIN_TOKEN,
  RATE_LIMIT_PAYMENTS_PER_MINUTE: String(LIMIT),
  RATE_LIMIT_USERS_PER_MINUTE: '60',
}

afterAll(closeAll)

const open = (more: object = {}) => testFacilitator({ variables: { ...variables, ...more } })

/** How many of three requests with each key were let through. */
async function served({ api }: TestFacilitator, keys: readonly ClientHeaders[], path = '/api/v1/verify') {
  const answers = await Promise.all(
    [...keys, ...keys, ...keys].map((key) => api.post(path).set(key).send({})),
  )
  const statuses = answers.map(({ status }) => status)
  expect(statuses.filter((status) => status !== 400 && status !== 429)).toEqual([])
  return statuses.filter((status) => status !== 429).length
}
async function keysOfOne({ api }: TestFacilitator, count: number) {
  const account = await newAccount(api)
  return Promise.all(Array.from({ length: count }, () => account.newKey()))
}
const keysOfMany = (facilitator: TestFacilitator, users: number) =>
  Promise.all(Array.from({ length: users }, async () => (await keysOfOne(facilitator, 1))[0]!))

test('all keys of a user share its limit, on every replica and route, and leave others theirs', async () => {
  const first = await open()
  const second = await testFacilitator({ ...first.settings, ephemeral: first.ephemeral })
  const keys = await keysOfOne(first, 8)
  expect(await served(first, keys)).toBe(LIMIT)
  expect(await served(second, keys, '/settle')).toBe(0)
  expect(await served(second, keys, '/api/v2/verify')).toBe(0)
  expect(await served(first, await keysOfOne(first, 2))).toBe(LIMIT)
})

describe('new users of one address', () => {
  test('share twice the limit of one where everyone can sign up; one with a fee share has its own', async () => {
    const facilitator = await open()
    const trusted = await keysOfOne(facilitator, 2)
    await facilitator.database.pool.query('UPDATE users SET fee_share_bps = 5000')
    expect(await served(facilitator, await keysOfMany(facilitator, 6))).toBe(2 * LIMIT)
    expect(await served(facilitator, trusted)).toBe(LIMIT)
  })

  test('have each their own limit where users are invited', async () => {
    const facilitator = await open()
    const keys = await keysOfMany(facilitator, 6)
    const invited = await testFacilitator({
      ...facilitator.settings,
      variables: { ...variables, SIGN_UP: 'invitation' },
    })
    expect(await served(invited, keys)).toBe(3 * keys.length)
  })
})

test('reads of settlements with client keys count by user too', async () => {
  const { api, ...facilitator } = await open({ RATE_LIMIT_USERS_PER_MINUTE: '20' })
  const keys = await keysOfOne({ api, ...facilitator }, 4)
  const read = (key: ClientHeaders) => api.get('/api/v1/settlements').set(key)
  const answers = await Promise.all(Array.from({ length: 10 }, () => keys.map(read)).flat())
  expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(20)
  expect(answers.at(-1)!.status).toBe(429)
})
