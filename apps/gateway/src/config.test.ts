import { createHash } from 'node:crypto'
import { readConfiguration } from './config'

const required = [
  'PUBLIC_URL',
  'DATABASE_URL',
  'JWT_SECRET',
  'SIGN_IN_DOMAINS',
  'FACILITATOR_URL',
  'FACILITATOR_CLIENT_ID',
  'FACILITATOR_CLIENT_TOKEN',
]

describe('the environment', () => {
  test('without required variables is refused, naming each', () => {
    expect(() => readConfiguration({})).toThrow(
      new RegExp(required.map((name) => `${name}: not set`).join('.*'), 's'),
    )
  })

  test('with an invalid value is refused without repeating it', () => {
    const wrong = { DATABASE_URL: 'hunter2', JWT_SECRET: 'hunter2', PORT: 'hunter2' }
    expect(() => readConfiguration(wrong)).toThrow(
      /PORT: expected a port.*DATABASE_URL: expected.*JWT_SECRET: /s,
    )
    expect(() => readConfiguration(wrong)).not.toThrow('hunter2')
  })

  test('with a client key that is invalid in a header is refused without repeating it', () => {
    const names = ['FACILITATOR_CLIENT_ID', 'FACILITATOR_CLIENT_TOKEN']
    const wrong = Object.fromEntries(names.map((name) => [name, 'hunter2 was thirty-two bytes\nand more']))
    const problems = names.map((name) => `${name}: expected visible ASCII characters`)
    expect(() => readConfiguration(wrong)).toThrow(new RegExp(problems.join('.*'), 's'))
    expect(() => readConfiguration(wrong)).not.toThrow('hunter2')
  })

  test('with upstreams that a stop could not wait for is refused', () => {
    const refusal = 'UPSTREAM_TIMEOUT_SECONDS: expected whole seconds, 1 to 120'
    expect(() => readConfiguration({ UPSTREAM_TIMEOUT_SECONDS: '121' })).toThrow(refusal)
    expect(() => readConfiguration({ UPSTREAM_TIMEOUT_SECONDS: '120' })).not.toThrow(refusal)
  })

  test('with a limit or pool size of zero is refused', () => {
    const none = {
      DATABASE_POOL_SIZE: '0',
      FREE_TIMEOUTS_PER_MINUTE: '0',
      RATE_LIMIT_AUTH_PER_MINUTE: '0',
      RATE_LIMIT_RPC_PER_MINUTE: '0',
      RATE_LIMIT_READS_PER_MINUTE: '0',
    }
    const names = Object.keys(none).map((name) => `${name}: expected a whole number, at least 1`)
    expect(() =>
      readConfiguration({ PUBLIC_URL: 'https://gateway.example', SIGN_IN_DOMAINS: 'Tollgate', ...none }),
    ).toThrow(new RegExp(names.join('.*'), 's'))
  })

  test('with a signing key of development is refused in production', () => {
    const key = `development-only-${'s'.repeat(32)}`
    expect(() => readConfiguration({ NODE_ENV: 'production', OFFER_SIGNING_KEY: key })).toThrow(
      'OFFER_SIGNING_KEY: holds a value for development',
    )
    expect(() => readConfiguration({ OFFER_SIGNING_KEY: key })).not.toThrow('OFFER_SIGNING_KEY')
  })

  test('with a console script of development is refused in production', () => {
    const script = { CONSOLE_DEVELOPMENT_SCRIPT: '/srv/console-wallets.js' }
    expect(() => readConfiguration({ NODE_ENV: 'production', ...script })).toThrow(
      'CONSOLE_DEVELOPMENT_SCRIPT: holds a value for development',
    )
    expect(() => readConfiguration(script)).not.toThrow('CONSOLE_DEVELOPMENT_SCRIPT')
  })

  describe('in production', () => {
    const secret = (seed: string) => createHash('sha256').update(seed).digest('hex')
    const good = {
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://gateway.example',
      DATABASE_URL: 'postgresql://gateway:hidden@postgres/gateway',
      REDIS_URL: 'redis://redis:6379/1',
      SIGN_IN_DOMAINS: 'Tollgate',
      FACILITATOR_URL: 'http://facilitator:8081/api/v1',
      FACILITATOR_CLIENT_ID: 'client',
      FACILITATOR_CLIENT_TOKEN: secret('token'),
      JWT_SECRET: secret('jwt'),
      JWT_SECRET_PREVIOUS: secret('previous jwt'),
      OFFER_SIGNING_KEY: secret('offers'),
      OFFER_SIGNING_KEY_PREVIOUS: secret('previous offers'),
    }

    test('takes random secrets, a Redis and a facilitator in the cluster', () => {
      expect(readConfiguration(good)).toMatchObject({ NODE_ENV: 'production' })
    })

    test('takes the addresses of one machine, as Compose sets them', () => {
      const compose = {
        PUBLIC_URL: 'http://localhost:8080',
        DATABASE_URL: 'postgresql://tollgate:tollgate@postgres:5432/gateway',
        REDIS_URL: 'redis://redis:6379/1',
        SIGN_IN_DOMAINS: '*',
      }
      expect(() => readConfiguration({ ...good, ...compose })).not.toThrow()
    })

    test.each<[string, Record<string, string>, RegExp]>([
      ['repeated characters', { JWT_SECRET: 'hidden'.repeat(9) }, /JWT_SECRET: is easy to guess; .*openssl/],
      [
        'words',
        { OFFER_SIGNING_KEY: 'this-is-my-secret-key-please-change' },
        /OFFER_SIGNING_KEY: is easy to guess/,
      ],
      [
        'a weak client token',
        { FACILITATOR_CLIENT_TOKEN: '0123456789'.repeat(4) },
        /FACILITATOR_CLIENT_TOKEN: is easy/,
      ],
      [
        'the previous secret unchanged',
        { JWT_SECRET_PREVIOUS: good.JWT_SECRET },
        /JWT_SECRET_PREVIOUS: is the same secret as JWT_SECRET/,
      ],
      [
        'one secret for two purposes',
        { OFFER_SIGNING_KEY: good.JWT_SECRET },
        /OFFER_SIGNING_KEY: is the same secret as JWT_SECRET/,
      ],
      [
        'weak secrets that are accepted beside the first ones',
        {
          JWT_SECRET_PREVIOUS: 'hidden'.repeat(9),
          OFFER_SIGNING_KEY_PREVIOUS: 'please-change'.repeat(3),
        },
        /JWT_SECRET_PREVIOUS: is easy.*OFFER_SIGNING_KEY_PREVIOUS: is easy/s,
      ],
      ['no Redis', { REDIS_URL: ' ' }, /REDIS_URL: not set; .* all replicas share/],
      [
        'collectors by plain HTTP',
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.example/hidden',
          OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://8.8.8.8/hidden',
        },
        /OTEL_EXPORTER_OTLP_ENDPOINT: http:\/\/ to a public.*OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: http:\/\/ to a public/s,
      ],
      [
        'a public facilitator by http://',
        { FACILITATOR_URL: 'http://facilitator.example/hidden' },
        /FACILITATOR_URL: http:\/\/ to a public host/,
      ],
      [
        'a public database with a weak password',
        { DATABASE_URL: 'postgresql://gateway:postgres@db.example/hidden' },
        /DATABASE_URL: has a password that is easy to guess/,
      ],
      [
        'a public Redis without TLS',
        { REDIS_URL: 'redis://:hidden@redis.example:6379/1' },
        /REDIS_URL: redis:\/\/ to a public host/,
      ],
      [
        'a public Redis without a password',
        { REDIS_URL: 'rediss://redis.example:6379/1' },
        /REDIS_URL: has no password/,
      ],
      [
        'its own public address by http://',
        { PUBLIC_URL: 'http://gateway.example/hidden' },
        /PUBLIC_URL: http:\/\/ to a public host/,
      ],
      ['a secret of words', { JWT_SECRET: 'thequickbrownfoxjumpsoverthelazydog' }, /JWT_SECRET: is easy/],
      [
        'weak secrets where the mode has a space',
        { NODE_ENV: 'production ', JWT_SECRET: 'hidden'.repeat(9) },
        /JWT_SECRET: is easy/,
      ],
      [
        'all at once',
        { REDIS_URL: '', JWT_SECRET: 'a'.repeat(32), FACILITATOR_URL: 'http://8.8.8.8' },
        /JWT_SECRET: is.*REDIS_URL: not.*FACILITATOR_URL: http/s,
      ],
    ])('refuses %s, and contains no value', (_name, changes, problem) => {
      const read = () => readConfiguration({ ...good, ...changes })
      expect(read).toThrow(problem)
      expect(read).not.toThrow(/hidden|please|[0-9a-f]{9}|0123/)
      expect(() => readConfiguration({ ...good, ...changes, NODE_ENV: '' })).not.toThrow()
    })
  })

  test.each(['*,Tollgate', 'gateway.example,*'])(
    'with %s as sign-in domains is refused',
    (SIGN_IN_DOMAINS) => {
      expect(() => readConfiguration({ SIGN_IN_DOMAINS })).toThrow(
        /SIGN_IN_DOMAINS: expected names and domains separated by commas, or \* alone/,
      )
      expect(() => readConfiguration({ SIGN_IN_DOMAINS: '*' })).not.toThrow(/SIGN_IN_DOMAINS/)
    },
  )
})
