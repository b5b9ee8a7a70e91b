import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { columnOf, linesOf, newOperator, type Operator } from '../../testing/operator'

let here: Operator
beforeAll(async () => {
  here = await newOperator()
  await here.rows.user('other@example.com')
})
afterAll(closeAll)

const run = (...args: string[]) => here.facilitator(args)

test('invitations: created for an email, listed without the code, deleted once', async () => {
  const { code, out } = await run('invitations', 'create', '--days', '2', '--email', 'New@example.com')
  expect([code, out]).toEqual([0, expect.stringMatching(/^[\w-]{43}\n$/)])
  const listed = await run('invitations', 'list')
  expect(columnOf(linesOf(listed), 'EMAIL')).toEqual(['new@example.com'])
  expect(listed.out).not.toContain(out.trim())
  const [id = ''] = columnOf(linesOf(listed), 'ID')
  expect(await run('invitations', 'delete', id)).toMatchObject({ code: 0 })
  expect(await run('invitations', 'delete', id)).toMatchObject({ code: 1 })
  expect(JSON.parse((await run('invitations', 'list', '--json')).out)).toEqual({ invitations: [] })
})

test('recipients: reserved in any spelling, idempotent, refused to another user, released', async () => {
  const { address } = Wallet.createRandom()
  for (const spelling of [address, address.toLowerCase()])
    expect(await run('recipients', 'reserve', 'SHOP@example.com', 'base', spelling)).toMatchObject({
      code: 0,
    })
  const taken = await run('recipients', 'reserve', 'other@example.com', 'base', address)
  expect([taken.code, taken.err]).toEqual([1, expect.stringContaining('another user has reserved it')])
  const lines = linesOf(await run('recipients', 'list'))
  expect([columnOf(lines, 'ADDRESS'), columnOf(lines, 'NETWORK'), columnOf(lines, 'PROOF')]).toEqual([
    [address],
    ['base'],
    ['operator'],
  ])
  const [id = ''] = columnOf(lines, 'ID')
  expect(await run('recipients', 'release', id)).toMatchObject({ code: 0 })
  expect(await run('recipients', 'release', id)).toMatchObject({ code: 1 })
  expect(await run('recipients', 'reserve', 'other@example.com', 'base', address)).toMatchObject({ code: 0 })
})

test('denied addresses: added in any spelling, listed, removed', async () => {
  const { address } = Wallet.createRandom()
  expect(
    await run('denied-addresses', 'add', address.toLowerCase(), '--note', 'court\u001b[31m order'),
  ).toMatchObject({ code: 0, out: expect.stringContaining(address) as string })
  expect(await run('denied-addresses', 'add', address)).toMatchObject({ code: 0 })
  const listed = await run('denied-addresses', 'list')
  expect(columnOf(linesOf(listed), 'ADDRESS')).toEqual([address])
  expect(columnOf(linesOf(listed), 'NOTE')[0]).toMatch(/^court/)
  expect(listed.out).not.toContain('\u001b')
  expect(await run('denied-addresses', 'remove', address.toUpperCase().replace('0X', '0x'))).toMatchObject({
    code: 0,
  })
  expect(await run('denied-addresses', 'remove', address)).toMatchObject({ code: 1 })
})

test.each([
  [['recipients', 'reserve', 'unknown@example.com', 'base', `0x${'1'.repeat(40)}`], 'unknown@example.com'],
  [['recipients', 'reserve', 'shop@example.com', 'nowhere', `0x${'1'.repeat(40)}`], 'network nowhere'],
])('exits with 1 if there is no such thing: %j', async (args, reason) => {
  expect(await run(...args)).toMatchObject({ code: 1, err: expect.stringContaining(reason) as string })
})

test.each([
  [['recipients', 'reserve', 'shop@example.com', 'base'], 'needs a user, a network and an address'],
  [['recipients', 'reserve', 'shop@example.com', 'base', '0x1'], '"0x1" is not an address'],
  [['recipients', 'release', '0'], 'ID needs a whole number'],
  [['denied-addresses', 'add', 'x'], '"x" is not an address'],
  [['invitations', 'create', '--email', 'x'], '--email needs an email'],
  [['invitations', 'list', 'x'], 'list takes no name'],
])('exits with 2 and the reason: %j', async (args, reason) => {
  expect(await run(...args)).toMatchObject({ code: 2, err: expect.stringContaining(reason) as string })
})
