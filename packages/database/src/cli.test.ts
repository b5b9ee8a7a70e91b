import { main } from './cli'
import { emptyDatabase, migrationsFolder, query, serverUrl } from './testing/database'
import { withDatabase } from './address'

async function tollgateDatabase(
  args: string[],
  environment: NodeJS.ProcessEnv = {},
  signal = new AbortController().signal,
) {
  const out: string[] = []
  const err: string[] = []
  const io = {
    environment,
    signal,
    now: new Date(),
    out: (line: string) => out.push(line),
    err: (line: string) => err.push(line),
  }
  const code = await main(args, io)
  return { code, out: out.join('\n'), err: err.join('\n') }
}
const first = { '20260101000000_first': 'CREATE TABLE first (id int PRIMARY key);' }

describe('tollgate-database', () => {
  test.each(['migrate', 'create', 'diff', 'check', 'resolve'])(
    '%s --help prints its help',
    async (command) => {
      const { code, out } = await tollgateDatabase([command, '--help'])
      expect(code).toBe(0)
      expect(out).toContain(`tollgate-database ${command} <gateway|facilitator>`)
      expect((await tollgateDatabase(['--help'])).out).toContain(`tollgate-database ${command}`)
    },
  )

  test.each([
    [[], {}, /^$/],
    [['mgirate', 'gateway'], {}, /no command "mgirate"/],
    [['migrate'], {}, /gateway or facilitator/],
    [['migrate', 'gateway', 'now'], {}, /Did not understand "now"/],
    [['migrate', 'gateway', '--force'], {}, /--force/],
    [['migrate', 'gateway'], {}, /DATABASE_URL is not set/],
    [['diff', 'gateway'], { DATABASE_URL: 'postgresql://h/d' }, /--name NAME/],
    [['resolve', 'gateway'], { DATABASE_URL: 'postgresql://h/d' }, /--rolled-back MIGRATION/],
  ])('answers 2 and a reason to %j', async (args, environment, reason) => {
    const { code, err } = await tollgateDatabase(args, environment)
    expect(code).toBe(2)
    expect(err).toMatch(reason)
  })

  test('migrate prints each migration, and is idempotent', async () => {
    const DATABASE_URL = await emptyDatabase()
    const MIGRATIONS_DIR = await migrationsFolder(first)
    const once = await tollgateDatabase(['migrate', 'gateway'], { DATABASE_URL, MIGRATIONS_DIR })
    expect(once).toMatchObject({ code: 0, out: expect.stringContaining('1 applied') as string })
    expect(once.err).toMatch(/^migration applied \(migration: 20260101000000_first, milliseconds: \d+\)$/)
    const twice = await tollgateDatabase(['migrate', 'gateway', '--migrations', MIGRATIONS_DIR], {
      DATABASE_URL,
    })
    expect(twice).toMatchObject({ code: 0, out: expect.stringContaining('nothing to do') as string, err: '' })
  })

  test('migrate returns 1 and prints the reason without a stack if it fails', async () => {
    const MIGRATIONS_DIR = await migrationsFolder(first)
    const DATABASE_URL = withDatabase(serverUrl(), 'no_such_database')
    const { code, err } = await tollgateDatabase(['migrate', 'gateway'], { DATABASE_URL, MIGRATIONS_DIR })
    expect(code).toBe(1)
    expect(err).toMatch(/the database does not exist/)
    expect(err).not.toMatch(/\n\s+at /)
  })

  test('returns 130 when stopped', async () => {
    const environment = { DATABASE_URL: await emptyDatabase(), MIGRATIONS_DIR: await migrationsFolder(first) }
    const { code } = await tollgateDatabase(['migrate', 'gateway'], environment, AbortSignal.abort())
    expect(code).toBe(130)
  })

  test('concurrent create commands create a missing database once', async () => {
    const name = `made_${Date.now()}`
    const DATABASE_URL = withDatabase(serverUrl(), name)
    const asked = Array.from({ length: 3 }, () => tollgateDatabase(['create', 'gateway'], { DATABASE_URL }))
    const answers = await Promise.all(asked)
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(answers.filter(({ out }) => out.endsWith('created'))).toHaveLength(1)
    expect(await query(DATABASE_URL, 'SELECT 1 AS up')).toEqual([{ up: 1 }])
  })

  test('check returns 1 and prints the missing SQL until diff has written it', async () => {
    const schema = 'datasource db {\n  provider = "postgresql"\n}\nmodel thing {\n  id Int @id\n}\n'
    const environment = { DATABASE_URL: serverUrl(), MIGRATIONS_DIR: await migrationsFolder({}, schema) }
    const before = await tollgateDatabase(['check', 'gateway'], environment)
    expect(before.code).toBe(1)
    expect(before.out).toContain('CREATE TABLE "thing"')
    expect(before.err).toContain('diff gateway --name NAME')
    const written = await tollgateDatabase(['diff', 'gateway', '--name', 'things'], environment)
    expect(written.out).toMatch(/Wrote .*_things\/migration\.sql/)
    expect(await tollgateDatabase(['check', 'gateway'], environment)).toMatchObject({ code: 0, err: '' })
  })
})
