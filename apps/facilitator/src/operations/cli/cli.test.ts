import { closeAll, emptyDatabase, runBin } from '@tollgate/testing'
import { join } from 'node:path'
import { newOperator, type Operator } from '../../testing/operator'

let here: Operator
beforeAll(async () => (here = await newOperator()))
beforeEach(() => here.clear())
afterAll(closeAll)

describe('facilitator', () => {
  test.each([
    [['--help'], 'settlements list'],
    [['settlements', '--help'], 'settlements list'],
    [['settlements', 'list', '--help'], '--older-than'],
    [['settlements', 'list', '--help'], 'reversed-final'],
    [['settlements', 'show', '-h'], 'every signed version'],
    [['settlements', 'list', '--unknown', '--help'], '--older-than'],
    [['--unknown', '--help'], 'settlements list'],
    [['settlements', 'retry', '--help'], 'it never pays twice'],
    [['settlements', 'retry', '--help'], 'Restore the key, then retry'],
  ])('prints its help: %j', async (args, words) => {
    const { code, out, err } = await here.facilitator(args, {})
    expect([code, err]).toEqual([0, ''])
    expect(out).toContain(words)
    expect(out).toContain('Exit codes: 0 done, 1 refused or failed, 2 not understood')
  })

  test.each([
    [[], 'a command is missing'],
    [['serve'], 'there is no command "serve"'],
    [['serve', '--help'], 'there is no command "serve"'],
    [['settlements'], 'settlements needs a verb'],
    [['settlements', 'constructor'], 'there is no "settlements constructor"'],
    [['settlements', 'list', '5'], 'did not understand "5"'],
    [
      ['settlements', 'list', '--state', 'settled'],
      '--state is one of claimed, signed, reversed, reversed-final',
    ],
    [['settlements', 'list', '--limit', '0'], '--limit needs a whole number from 1'],
    [['settlements', 'list', '--limit', '1e9'], '--limit needs a whole number'],
    [['settlements', 'list', '--limit', '100001'], '--limit needs a whole number from 1 to 100000'],
    [['settlements', 'list', '--older-than', '-1'], '--older-than'],
    [['settlements', 'list', '--all'], '--all'],
    [['settlements', 'audit', '5'], 'did not understand "5"'],
    [['settlements', 'show'], 'settlements show needs one id'],
    [['settlements', 'show', '1', '2'], 'settlements show needs one id'],
    [['settlements', 'show', '0x1'], '"0x1" is not a settlement id'],
    [['settlements', 'retry'], 'settlements retry needs at least one id'],
    [['settlements', 'retry', '1', '9223372036854775808'], '"9223372036854775808" is not a settlement id'],
    [['settlements', 'retry', '1', '--force'], '--force'],
  ])('exits with 2, the reason and the help: %j', async (args, reason) => {
    const { code, out, err } = await here.facilitator(args)
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(reason)
    expect(err).toContain('Exit codes:')
  })

  test('exits with 78 if DATABASE_URL is not set', async () => {
    const { code, err } = await here.facilitator(['settlements', 'list'], {})
    expect([code, err]).toEqual([78, expect.stringContaining('DATABASE_URL is not set')])
  })

  test('asks to migrate a database without tables, and never prints its password', async () => {
    const DATABASE_URL = await emptyDatabase()
    const { password } = new URL(DATABASE_URL)
    const { code, err } = await here.facilitator(['settlements', 'list'], { DATABASE_URL })
    expect([code, err]).toEqual([1, expect.stringContaining('run its migrations first')])
    if (password !== '') expect(err).not.toContain(password)
  })
})

test('bin/facilitator.js runs the command line', async () => {
  const bin = join(__dirname, '../../../bin/facilitator.js')
  const id = (await here.settlement({ ageSeconds: 60 })).toString()
  const { DATABASE_URL } = here
  const env = { DATABASE_URL }
  expect(await runBin(bin, ['settlements', 'list'], env)).toEqual([
    0,
    expect.stringMatching(/^ID .*\n1 .*\n$/),
    '',
  ])
  expect(await runBin(bin, ['settlements', 'show', id], env)).toEqual([
    0,
    expect.stringContaining(`Settlement ${id}: claimed`),
    '',
  ])
  expect(await runBin(bin, ['settlements', 'retry', id], env)).toEqual([
    0,
    expect.stringContaining('retried: '),
    '',
  ])
  expect(await runBin(bin, ['settlements', 'retry', id, '999'], env)).toEqual([
    1,
    expect.stringContaining('999'),
    '',
  ])
  expect(await runBin(bin, ['settlements'], env)).toEqual([
    2,
    '',
    expect.stringContaining('settlements needs a verb'),
  ])
  expect(await runBin(bin, ['settlements', 'list'])).toEqual([
    78,
    '',
    expect.stringContaining('DATABASE_URL'),
  ])
})
