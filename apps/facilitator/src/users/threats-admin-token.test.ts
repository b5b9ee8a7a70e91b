import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, asAdmin } from '../testing/accounts'
import { testFacilitator, type TestFacilitator } from '../testing/facilitator'

afterAll(closeAll)

test('an address with many wrong admin tokens gets 429 on every replica, also with the right one; others do not', async () => {
  const variables = { ADMIN_TOKEN, RATE_LIMIT_ACCOUNTS_PER_MINUTE: '5', TRUSTED_PROXIES: '1' }
  const first = await testFacilitator({ variables })
  const second = await testFacilitator({ ...first.settings, ephemeral: first.ephemeral })
  const statusOf = async ({ api }: TestFacilitator, token: object, address = '8.8.8.8') =>
    (await api.get('/admin/users').set({ ...token, 'X-Forwarded-For': address })).status
  expect(await statusOf(first, asAdmin)).toBe(200)
  const guesses: number[] = []
  for (let n = 0; n < 7; n++)
    guesses.push(await statusOf(n % 2 ? second : first, { Authorization: `Bearer guess ${n}` }))
  expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429])
  for (const replica of [first, second]) {
    expect(await statusOf(replica, asAdmin)).toBe(429)
    expect(await statusOf(replica, asAdmin, '8.8.4.4')).toBe(200)
  }
})
