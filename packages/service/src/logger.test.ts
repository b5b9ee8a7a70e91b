import { readableLog } from './testing/log'

describe('createLogger', () => {
  test('writes one JSON line per event with its fields', async () => {
    const { logger, lines, flushed } = readableLog()
    logger.info('payment settled', { wallet: '0xabc', credits: 100n, at: new Date(0) })
    await flushed()
    expect(lines()).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
        level: 'info',
        service: 'test',
        message: 'payment settled',
        wallet: '0xabc',
        credits: '100',
        at: '1970-01-01T00:00:00.000Z',
      },
    ])
  })

  test('omits lines below its level', async () => {
    const { logger, lines, flushed } = readableLog('warn')
    logger.info('quiet')
    logger.warn('loud')
    await flushed()
    expect(lines().map(({ message }) => message)).toEqual(['loud'])
  })

  test('adds the fields of a child logger to its lines', async () => {
    const { logger, lines, flushed } = readableLog()
    logger.child({ requestId: 'r1' }).info('one', { wallet: 'w' })
    await flushed()
    expect(lines()[0]).toMatchObject({ requestId: 'r1', wallet: 'w' })
  })

  test('lets no field override the time, the level or the service', async () => {
    const { logger, lines, flushed } = readableLog()
    logger.info('one', { time: 'never', service: 'other', level: 'error' })
    await flushed()
    expect(lines()[0]).toMatchObject({ level: 'info', service: 'test' })
    expect(lines()[0]?.time).not.toBe('never')
  })

  test.each([
    'authorization',
    'Authorization',
    'cookie',
    'set-cookie',
    'X-PAYMENT',
    'xPayment',
    'paymentHeader',
    'payment-signature',
    'proof',
    'token',
    'access_token',
    'refreshToken',
    'x-client-token',
    'adminToken',
    'clientSecret',
    'JWT_SECRET',
    'password',
    'privateKey',
    'private_key',
    'apiKey',
    'x-api-key',
    'mnemonic',
    'signature',
  ])('masks a field named %s, at any depth', async (name) => {
    const { logger, text, flushed } = readableLog()
    logger.info('one', { [name]: 'hunter2', inner: { list: [{ [name]: { deep: 'hunter2' } }] } })
    await flushed()
    expect(text()).not.toContain('hunter2')
    expect(text().match(/\[masked\]/g)).toHaveLength(2)
  })

  test('keeps values that are not secret: hashes, addresses, public keys, amounts, booleans', async () => {
    const { logger, lines, flushed } = readableLog()
    const facts = {
      transaction: `0x${'ab'.repeat(32)}`,
      payer: `0x${'cd'.repeat(20)}`,
      publicKey: 'A1b2',
      paymentId: 7,
      hasToken: true,
      idempotencyKey: 'k-1',
      url: 'https://rpc.example/v1?limit=5',
    }
    logger.info('one', facts)
    await flushed()
    expect(lines()[0]).toMatchObject(facts)
  })

  test('masks secrets by their shape, in messages, fields and errors', async () => {
    const { logger, text, flushed } = readableLog()
    const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJ3YWxsZXQiOiIweDEifQ.c2lnbmF0dXJl-_x'
    logger.info(`got ${jwt}`, {
      header: 'Bearer hunter2',
      database: 'postgresql://gateway:hunter2@db:5432/gateway',
      redis: new URL('rediss://:hunter2@cache:6379/0'),
      upstream: 'https://rpc.example/?apikey=hunter2&x=1',
      error: new Error(`connect to postgres://u:hunter2@db/x with ${jwt} failed`),
    })
    await flushed()
    expect(text()).not.toContain('hunter2')
    expect(text()).not.toContain('eyJ')
    expect(text()).toContain('db:5432/gateway')
  })

  test('writes an error with all its causes and no other members', async () => {
    const { logger, lines, text, flushed } = readableLog()
    const reset = Object.assign(new Error('socket hang up'), {
      code: 'ECONNRESET',
      config: { data: 'hunter2' },
    })
    const failed = new Error('upstream failed', { cause: new AggregateError([reset], 'all failed') })
    logger.error('call failed', { error: failed })
    await flushed()
    expect(lines()[0]?.error).toMatchObject({
      name: 'Error',
      message: 'upstream failed',
      stack: expect.stringContaining('logger.test.ts') as string,
      cause: { name: 'AggregateError', errors: [{ message: 'socket hang up', code: 'ECONNRESET' }] },
    })
    expect(text()).not.toContain('hunter2')
  })

  test('survives any field: circles, depth, size, getters that throw', async () => {
    const { logger, lines, flushed } = readableLog()
    const circle: Record<string, unknown> = {
      bytes: Buffer.alloc(1e6),
      long: 'x'.repeat(1e6),
      many: Array(1e4).fill(1),
    }
    circle.self = circle
    circle.nothing = Object.create(null)
    const wide = (levels: number): unknown => (levels === 0 ? 1 : Array<unknown>(9).fill(wide(levels - 1)))
    const error = new Error('its own cause')
    error.cause = error
    logger.info('one', { error, wide: wide(9) })
    logger.info('one', { circle, fn: () => 1, date: new Date(NaN) })
    const unreadable = {
      get bad() {
        throw new Error('no')
      },
    }
    logger.info('two', { unreadable })
    logger.info(Object.create(null) as string)
    await flushed()
    expect(lines()).toHaveLength(4)
    expect(lines().map(({ unreadable }) => unreadable !== undefined)).toEqual([false, false, true, false])
    expect(Math.max(...lines().map((line) => JSON.stringify(line).length))).toBeLessThan(120_000)
  })
})
