import { closeAll } from '@tollgate/testing'
import { sha256 } from '../../digest'
import { columnOf, linesOf, newOperator, type Operator } from '../../testing/operator'

let here: Operator
let id: string
beforeAll(async () => {
  here = await newOperator()
  const { rows } = await here.pool.query<{ id: number }>(
    "SELECT id FROM users WHERE email = 'shop@example.com'",
  )
  id = String(rows[0]!.id)
})
afterAll(closeAll)

const userNow = async () => {
  const { rows } = await here.pool.query<{ bps: number | null; isDisabled: boolean }>(
    'SELECT fee_share_bps AS bps, disabled_at IS NOT NULL AS "isDisabled" FROM users WHERE id = $1',
    [id],
  )
  return rows[0]
}

describe('facilitator users', () => {
  test('list has a line for each user, and counts those not shown', async () => {
    const before = linesOf(await here.facilitator(['users', 'list']))
    expect(columnOf(before, 'EMAIL')).toContain('shop@example.com')
    expect([columnOf(before, 'STATE'), columnOf(before, 'share'), columnOf(before, 'KEYS')]).toEqual([
      ['active'],
      ['new'],
      ['1'],
    ])
    const second = await here.rows.user('other\u001b[31m@example.com')
    const first = linesOf(await here.facilitator(['users', 'list', '--limit', '1']))
    expect(first.at(-1)).toBe('and 1 more; --limit 2 shows all')
    const { out } = await here.facilitator(['users', 'list', '--json'])
    expect(JSON.parse(out)).toMatchObject({ total: 2, users: [{ email: 'shop@example.com' }, {}] })
    expect((await here.facilitator(['users', 'list'])).out).not.toContain('\u001b')
    await here.pool.query('DELETE FROM users WHERE id = $1', [second])
  })

  test.each([['shop@example.com'], ['SHOP@example.com'], ['its id']])(
    'allow sets the share of %s',
    async (name) => {
      const user = name === 'its id' ? id : name
      const { code, out } = await here.facilitator(['users', 'allow', user, '2.5%'])
      expect([code, out]).toEqual([0, "shop@example.com: may cause 2.5 % of each network's daily fees\n"])
      expect(await userNow()).toMatchObject({ bps: 250 })
      await here.pool.query('UPDATE users SET fee_share_bps = NULL')
    },
  )

  test('disable, enable and log-out are idempotent', async () => {
    for (const verb of ['disable', 'disable']) {
      expect(await here.facilitator(['users', verb, id])).toMatchObject({ code: 0, err: '' })
      expect(await userNow()).toMatchObject({ isDisabled: true })
    }
    expect(columnOf(linesOf(await here.facilitator(['users', 'list'])), 'STATE')).toEqual(['disabled'])
    for (const verb of ['enable', 'enable', 'log-out', 'log-out'])
      expect(await here.facilitator(['users', verb, id])).toMatchObject({ code: 0, err: '' })
    expect(await userNow()).toMatchObject({ isDisabled: false })
  })
})

describe('facilitator users reset-password', () => {
  test.each([['shop@example.com'], ['its id']])(
    'prints a token that is stored as its hash only, for %s; a new one ends the one before',
    async (name) => {
      const user = name === 'its id' ? id : name
      const printed = [
        await here.facilitator(['users', 'reset-password', user]),
        await here.facilitator(['users', 'reset-password', user]),
      ]
      for (const { code, out, err } of printed)
        expect([code, out, err]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/), ''])
      const { rows } = await here.pool.query<{ hash: Buffer }>('SELECT hash FROM password_resets')
      const [, newest] = printed
      expect(rows.map(({ hash }) => hash)).toEqual([sha256(newest!.out.trim())])
    },
  )

  test('exits with 1 for a disabled user', async () => {
    await here.facilitator(['users', 'disable', id])
    const { code, out, err } = await here.facilitator(['users', 'reset-password', id])
    await here.facilitator(['users', 'enable', id])
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(`there is no active user ${id}`)
  })
})

test('facilitator users enable refuses a deleted account, which the list shows as such', async () => {
  const gone = await here.rows.user('deleted-x')
  await here.pool.query('UPDATE users SET deleted_at = now(), disabled_at = now() WHERE id = $1', [gone])
  const { code, err } = await here.facilitator(['users', 'enable', String(gone)])
  expect([code, err]).toEqual([1, expect.stringContaining(`there is no user ${gone}`)])
  expect(columnOf(linesOf(await here.facilitator(['users', 'list'])), 'STATE')).toEqual(['active', 'deleted'])
  await here.pool.query('DELETE FROM users WHERE id = $1', [gone])
})

test('facilitator clients allow sets the share of a key', async () => {
  const { code, out } = await here.facilitator(['clients', 'allow', here.clientId, '100'])
  expect([code, out]).toEqual([0, `${here.clientId}: may cause 100 % of each network's daily fees\n`])
})

test('facilitator invitations create prints a token that is stored as its hash only', async () => {
  const { code, out } = await here.facilitator(['invitations', 'create', '--days', '2'])
  expect([code, out]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)])
  const { rows } = await here.pool.query<{ hash: Buffer; days: number }>(
    'SELECT hash, round(extract(epoch FROM expires_at - now()) / 86400)::int AS days FROM invitations',
  )
  expect(rows).toMatchObject([{ days: 2 }])
  expect(rows[0]!.hash.toString('base64url')).not.toBe(out.trim())
})

test.each([
  [['users', 'disable', 'unknown@example.com'], 'there is no user unknown@example.com'],
  [['users', 'allow', '999999', '1'], 'there is no user 999999'],
  [['users', 'reset-password', '999999'], 'there is no active user 999999'],
  [['clients', 'allow', 'client_x', '1'], 'there is no client key client_x'],
])('exits with 1 if there is no such account: %j', async (args, reason) => {
  const { code, out, err } = await here.facilitator(args)
  expect([code, out]).toEqual([1, ''])
  expect(err).toContain(reason)
})

test.each([
  [['users'], 'users needs a verb'],
  [['users', 'delete', '1'], 'there is no "users delete"'],
  [['users', 'allow', '1'], 'needs a user and a percentage'],
  [['users', 'allow', '1', '101'], '"101" is not a percentage'],
  [['users', 'allow', '1', '0.001'], '"0.001" is not a percentage'],
  [['users', 'disable'], 'needs one user'],
  [['users', 'reset-password'], 'needs one user'],
  [['users', 'disable', '1', '2'], 'needs one user'],
  [['users', 'disable', '-1'], '-1'],
  [['users', 'disable', 'shop'], '"shop" is neither a user id nor an email'],
  [['clients', 'allow', 'x'], 'needs a client id and a percentage'],
  [['invitations', 'create', '--days', '0'], '--days needs a whole number from 1 to 366'],
])('exits with 2, the reason and the help: %j', async (args, reason) => {
  const { code, out, err } = await here.facilitator(args)
  expect([code, out]).toEqual([2, ''])
  expect(err).toContain(reason)
  expect(err).toContain('Exit codes:')
})
