import { closeAll } from '@tollgate/testing'
import { createAccountStore } from '../operations/accounts/operator-account-store'
import { testFacilitator } from '../testing/facilitator'

afterAll(closeAll)

const ADMIN_TOKEN = 'a'.repeat(32)

async function facilitatorWith(SIGN_UP: string) {
  const variables = { SIGN_UP, ADMIN_TOKEN }
  const { api, database } = await testFacilitator({ variables })
  let count = 0
  const account = () => ({ email: `shop-${++count}@example.com`, password: 'correct horse' })
  return {
    account,
    accounts: createAccountStore(database.pool),
    pool: database.pool,
    signUp: async (body: object) => {
      const answer = await api.post('/api/v1/signup').send(body)
      return [answer.status, (answer.body as { code?: string }).code]
    },
    createUser: (body: object) =>
      api.post('/admin/users').set('Authorization', `Bearer ${ADMIN_TOKEN}`).send(body).expect(200),
  }
}

const FORBIDDEN = [403, 'FORBIDDEN']
const OK = [200, undefined]

test('open sign-up accepts all users and ignores invitations', async () => {
  const { signUp, account } = await facilitatorWith('open')
  expect(await signUp(account())).toEqual(OK)
  expect(await signUp({ ...account(), invitation: 'made up' })).toEqual(OK)
})

test('closed sign-up refuses everyone, with or without an invitation; the operator still creates users', async () => {
  const { signUp, account, accounts, createUser } = await facilitatorWith('closed')
  expect(await signUp(account())).toEqual(FORBIDDEN)
  expect(await signUp({ ...account(), invitation: await accounts.invite(1) })).toEqual(FORBIDDEN)
  await createUser(account())
})

test('an invitation admits one user, and a taken email does not consume it', async () => {
  const { signUp, account, accounts, pool } = await facilitatorWith('invitation')
  const invitation = await accounts.invite(1)
  expect(await signUp(account())).toEqual(FORBIDDEN)
  expect(await signUp({ ...account(), invitation: 'made up' })).toEqual(FORBIDDEN)

  const first = account()
  expect(await signUp({ ...first, invitation })).toEqual(OK)
  expect(await signUp({ ...account(), invitation })).toEqual(FORBIDDEN)

  const next = await accounts.invite(1)
  expect(await signUp({ ...first, invitation: next })).toEqual([409, 'CONFLICT'])
  expect(await signUp({ ...account(), invitation: next })).toEqual(OK)

  const late = await accounts.invite(1)
  await pool.query('UPDATE invitations SET expires_at = now() WHERE used_at IS NULL')
  expect(await signUp({ ...account(), invitation: late })).toEqual(FORBIDDEN)

  const { rows } = await pool.query<{ hash: Buffer }>('SELECT hash FROM invitations')
  for (const { hash } of rows) expect(hash).toHaveLength(32)
})

test('an invitation admits one of ten concurrent sign-ups', async () => {
  const { signUp, account, accounts } = await facilitatorWith('invitation')
  const invitation = await accounts.invite(1)
  const answers = await Promise.all(Array.from({ length: 10 }, () => signUp({ ...account(), invitation })))
  expect(answers.filter(([status]) => status === 200)).toHaveLength(1)
  expect(answers.filter(([status]) => status === 403)).toHaveLength(9)
})

test('a new user has no fee share until an operator sets it, also at its creation', async () => {
  const { signUp, account, accounts, createUser } = await facilitatorWith('open')
  await signUp(account())
  await createUser(account())
  await createUser({ ...account(), fee_share_percent: 2.5 })
  const { users } = await accounts.list(10)
  expect(users.map(({ feeShareBps }) => feeShareBps)).toEqual([null, null, 250])
})
