import { closeAll } from '@tollgate/testing'
import type * as Argon2 from '@node-rs/argon2'
import { newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'

/** The real function, spied on: a busy machine changes its duration, but not the number of calls. */
const argon2 = jest.requireActual<typeof Argon2>('@node-rs/argon2')
const MAX_AT_ONCE = 64

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let email: string

beforeAll(async () => {
  facilitator = await testFacilitator()
  api = facilitator.api
  email = (await newUser(api)).email
})
afterEach(() => jest.restoreAllMocks())
afterAll(closeAll)

const login = (address: string, password: string) =>
  api.post('/api/v1/login').send({ email: address, password })

async function learned(address: string, password: string) {
  const { status, headers, text } = await login(address, password)
  const entries = Object.entries(headers as Record<string, string>)
  return {
    status,
    text,
    headers: entries.filter(([name]) => !['date', 'x-request-id', 'ratelimit'].includes(name)),
  }
}

const addresses: [string, (known: string) => string][] = [
  ['known', (known) => known],
  ['known, in upper case', (known) => known.toUpperCase()],
  ['known, with a space after it', (known) => `${known} `],
  ['known, with a NUL after it', (known) => `${known}\u0000`],
  ['known, with a line after it', (known) => `${known}\r\nBcc: a@example.com`],
  ['known, but for a full-width letter', (known) => known.replace('e', 'ｅ')],
  ['known, but for a Cyrillic letter', (known) => known.replace('example', 'ехample')],
  ['unknown', () => 'unknown@example.com'],
  ['half of a surrogate pair', () => '\ud800@example.com'],
  ['invalid', () => "' or 1=1 --"],
  ['empty', () => ''],
]
const passwords: [string, string][] = [
  ['wrong', 'a wrong password'],
  ['too short for one', 'x'],
  ['empty', ''],
  ['with a NUL', 'a wrong\u0000password'],
  ['half of a surrogate pair', '\ud800'.repeat(8)],
  ['too long for one', 'x'.repeat(1024)],
]

const textOf = ([query]: unknown[]) =>
  typeof query === 'string' ? query : String((query as { text?: unknown }).text)

describe('POST /login', () => {
  test.each(addresses)(
    'gives the same response, after one query and one hash, to an email that is %s',
    async (_, of) => {
      const refused = await learned(email, 'a wrong password')
      expect(refused).toMatchObject({ status: 401, text: '{"message":"Wrong email or password"}' })
      for (const [, password] of passwords) {
        const verify = jest.spyOn(argon2, 'verify')
        const query = jest.spyOn(facilitator.database.pool, 'query')
        expect(await learned(of(email), password)).toEqual(refused)
        expect(query.mock.calls.filter((call) => /\busers\b/.test(textOf(call)))).toHaveLength(1)
        expect(verify.mock.calls).toEqual([
          [expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/), password],
        ])
        jest.restoreAllMocks()
      }
    },
  )

  test('gives the same response to an oversized password, and does not hash it', async () => {
    const verify = jest.spyOn(argon2, 'verify')
    for (const password of ['x'.repeat(1025), 'x'.repeat(10_000), 'x'.repeat(200_000)]) {
      const [known, unknown] = [
        await learned(email, password),
        await learned('unknown@example.com', password),
      ]
      expect(known.status).toBe(400)
      expect(unknown).toEqual(known)
    }
    expect(verify).not.toHaveBeenCalled()
  })

  test('is OVERLOADED for known and unknown emails alike at the maximum of concurrent logins', async () => {
    let open = () => {}
    let full = () => {}
    const opened = new Promise<void>((resolve) => (open = resolve))
    const filled = new Promise<void>((resolve) => (full = resolve))
    const { verify: realVerify } = argon2
    const verify = jest.spyOn(argon2, 'verify').mockImplementation(async (hashed, password) => {
      if (verify.mock.calls.length === MAX_AT_ONCE) full()
      await opened
      return realVerify(hashed, password)
    })
    const concurrent = Array.from({ length: MAX_AT_ONCE }, () =>
      login('unknown@example.com', 'wrong').then(({ status }) => status),
    )
    await filled

    const known = await learned(email, 'a wrong password')
    expect(known.status).toBe(503)
    expect(JSON.parse(known.text)).toMatchObject({ code: 'OVERLOADED' })
    expect(Object.fromEntries(known.headers)).toHaveProperty('retry-after', '3')
    for (const [, of] of addresses) expect(await learned(of(email), 'a wrong password')).toEqual(known)
    await api
      .post('/api/v1/signup')
      .send({ email: 'new@example.com', password: 'a new password' })
      .expect(503)

    open()
    expect(new Set(await Promise.all(concurrent))).toEqual(new Set([401]))
    await login(email, 'a wrong password').expect(401)
  })
})
