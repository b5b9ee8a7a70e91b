import { z } from 'zod'
import { ConfigurationError, DEVELOPMENT_SECRET_PREFIX, env, readEnvironment } from './config'

function problemsOf(read: () => unknown): string[] {
  try {
    read()
  } catch (error) {
    if (error instanceof ConfigurationError) return error.problems
    throw error
  }
  return []
}

const schema = z.object({
  PORT: env.port.default(8080),
  DATABASE_URL: env.postgresUrl,
  REDIS_URL: env.redisUrl.optional(),
  JWT_SECRET: env.secret(),
  NONCE_TTL_SECONDS: env.seconds.default(300),
  RATE_LIMITED: env.flag.default(true),
  FACILITATOR_URL: env.url.optional(),
  SIGN_IN_DOMAINS: env.list(env.text).default(['localhost']),
  LOG_LEVEL: env.logLevel.default('info'),
})
const good = { DATABASE_URL: 'postgresql://u:p@db:5432/gateway', JWT_SECRET: 's'.repeat(32) }

describe('readEnvironment', () => {
  test('gives typed values, with defaults where a variable is unset, empty or blank', () => {
    const read = readEnvironment(schema, {
      ...good,
      PORT: '',
      LOG_LEVEL: '  ',
      NONCE_TTL_SECONDS: ' 60\n',
      RATE_LIMITED: 'false',
      FACILITATOR_URL: 'https://facilitator.example/api/v1/',
      SIGN_IN_DOMAINS: 'a.example, b.example',
      UNRELATED: 'x',
    })
    expect(read).toEqual({
      ...good,
      PORT: 8080,
      LOG_LEVEL: 'info',
      NONCE_TTL_SECONDS: 60,
      RATE_LIMITED: false,
      FACILITATOR_URL: 'https://facilitator.example/api/v1',
      SIGN_IN_DOMAINS: ['a.example', 'b.example'],
    })
  })

  test('lists all problems, each with its variable and the expected value', () => {
    const problems = problemsOf(() =>
      readEnvironment(schema, {
        PORT: '70000',
        REDIS_URL: 'http://redis:6379',
        JWT_SECRET: 'short',
        NONCE_TTL_SECONDS: '0',
        RATE_LIMITED: 'perhaps',
        FACILITATOR_URL: 'facilitator:8081',
        SIGN_IN_DOMAINS: 'a,,b',
        LOG_LEVEL: 'loud',
      }),
    )
    expect(problems).toEqual([
      'PORT: expected a port, 0 to 65535',
      'DATABASE_URL: not set; expected an address such as postgresql://user:password@host:5432/database',
      'REDIS_URL: expected an address such as redis://:password@host:6379/0',
      'JWT_SECRET: expected a secret of at least 32 bytes, such as `openssl rand -hex 32` makes',
      'NONCE_TTL_SECONDS: expected whole seconds, at least 1',
      'RATE_LIMITED: expected true or false',
      'FACILITATOR_URL: expected an address such as https://host:port/path',
      'SIGN_IN_DOMAINS: expected a list, separated by commas, without gaps',
      'LOG_LEVEL: expected error, warn, info or debug',
    ])
  })

  test('never prints a value', () => {
    const value = 'hunter2hunter2'
    const wrong = Object.fromEntries(Object.keys(schema.shape).map((name) => [name, value]))
    const withUrl = schema.extend({
      COUNT: z.coerce.number(),
      WORD: z.enum(['a']),
      HEX: z.string().regex(/^0x/),
    })
    const problems = problemsOf(() =>
      readEnvironment(withUrl, {
        ...wrong,
        SIGN_IN_DOMAINS: `${value},`,
        COUNT: value,
        WORD: value,
        HEX: value,
      }),
    )
    expect(problems.length).toBeGreaterThan(8)
    expect(problems.join()).not.toContain('hunter2')
  })

  test.each(['0x10', '1e3', '-1', '+5', '1.0', ' 1 0', '１０', '1_000', 'NaN', '9'.repeat(30)])(
    'rejects %s as a whole number',
    (value) => {
      expect(problemsOf(() => readEnvironment(z.object({ N: env.count }), { N: value }))).toHaveLength(1)
    },
  )

  test.each(['postgresql://host', 'mysql://host/db', 'host/db', 'postgresql:///db'])(
    'rejects %s as a Postgres address',
    (value) => {
      expect(problemsOf(() => readEnvironment(z.object({ D: env.postgresUrl }), { D: value }))).toHaveLength(
        1,
      )
    },
  )

  test('refuses a variable name of an earlier release, and names the new one', () => {
    const schema = z.object({ NEW_SECONDS: env.seconds.prefault('5') })
    const renamed = { OLD_SECONDS: 'NEW_SECONDS' } as const
    expect(readEnvironment(schema, { NEW_SECONDS: '7' }, { renamed })).toEqual({ NEW_SECONDS: 7 })
    expect(problemsOf(() => readEnvironment(schema, { OLD_SECONDS: '7' }, { renamed }))).toEqual([
      'OLD_SECONDS: renamed; set NEW_SECONDS instead',
    ])
  })

  describe('NODE_ENV', () => {
    const mode = z.object({ NODE_ENV: env.mode.optional(), JWT_SECRET: env.secret() })
    const weak = { JWT_SECRET: 's'.repeat(32) }
    const read = (NODE_ENV: string | undefined) => () =>
      readEnvironment(mode, { ...weak, NODE_ENV }, { production: { secrets: ['JWT_SECRET'] } })

    test.each(['production', 'production ', ' production\n'])('%j is production', (value) =>
      expect(problemsOf(read(value))).toEqual([expect.stringMatching(/^JWT_SECRET: is easy to guess/)]),
    )

    test.each(['Production', 'prod', 'PRODUCTION', 'staging', 'production,'])('%j is refused', (value) =>
      expect(problemsOf(read(value))).toEqual(['NODE_ENV: expected production, development or test']),
    )

    test.each(['development', 'test ', '', undefined])('%j is not production', (value) =>
      expect(problemsOf(read(value))).toEqual([]),
    )
  })

  describe('development values', () => {
    const secret = `${DEVELOPMENT_SECRET_PREFIX}${'x'.repeat(32)}`
    const withDefaults = z.object({
      JWT_SECRET: env.secret().default(secret),
      DATABASE_URL: env.postgresUrl,
      SIGNER_KEY: env.text,
    })
    const given = {
      DATABASE_URL: `postgresql://u:${DEVELOPMENT_SECRET_PREFIX}p@db/gateway`,
      SIGNER_KEY: '0xac09',
    }
    const known = { developmentValues: { SIGNER_KEY: (value: string) => value === '0xac09' } }

    test('are accepted in development', () => {
      expect(readEnvironment(withDefaults, given, known).JWT_SECRET).toBe(secret)
    })

    test('are refused in production: given, by default, inside an address, or recognized by their function', () => {
      const problems = problemsOf(() =>
        readEnvironment(withDefaults, { ...given, NODE_ENV: 'production' }, known),
      )
      expect(problems.map((problem) => problem.split(':')[0])).toEqual([
        'JWT_SECRET',
        'DATABASE_URL',
        'SIGNER_KEY',
      ])
      expect(problems.join()).not.toContain('0xac09')
      expect(problems.join()).not.toContain(DEVELOPMENT_SECRET_PREFIX)
    })
  })
})
