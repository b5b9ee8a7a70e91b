import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { newUser, testFacilitator } from '../testing/facilitator'
import { createTokens } from './tokens'

const [first, second, other] = ['1', '2', '3'].map((digit) => digit.repeat(32)) as [string, string, string]

afterAll(closeAll)

test('a token of any of the secrets is accepted, and the first one signs', () => {
  const now = () => new Date()
  const session = { userId: 7, sessionId: randomUUID() }
  const rotating = createTokens([first, second], now)
  const [old, unknown] = [createTokens([second], now), createTokens([other], now)]
  expect(rotating.read(old.issue(session))).toEqual(session)
  expect(rotating.read(unknown.issue(session))).toBeUndefined()
  expect(createTokens([first], now).read(rotating.issue(session))).toEqual(session)
  expect(old.read(rotating.issue(session))).toBeUndefined()
})

test('the service accepts both admin tokens, and access tokens of both secrets', async () => {
  const rotating = await testFacilitator({
    variables: {
      JWT_SECRET: first,
      JWT_SECRET_PREVIOUS: second,
      ADMIN_TOKEN: first,
      ADMIN_TOKEN_PREVIOUS: second,
    },
  })
  const overview = (token: string) => rotating.api.get('/admin/users').set('Authorization', `Bearer ${token}`)
  await overview(first).expect(200)
  await overview(second).expect(200)
  await overview(other).expect(401)

  const { accessToken } = await newUser(rotating.api)
  const { sub, sid } = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString()) as {
    sub: string
    sid: string
  }
  const signedBy = (secret: string) =>
    createTokens([secret], () => new Date()).issue({ userId: Number(sub), sessionId: sid })
  const clients = (token: string) =>
    rotating.api.get('/api/v1/clients').set('Authorization', `Bearer ${token}`)
  await clients(signedBy(second)).expect(200)
  await clients(signedBy(other)).expect(401)
})
