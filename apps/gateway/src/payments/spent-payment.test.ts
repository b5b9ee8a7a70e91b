import { closeAll, closeLater, migratedDatabase, runMain } from '@tollgate/testing'
import { openGatewayDatabase } from '@tollgate/database'
import { randomUUID } from 'node:crypto'
import { main } from '../cli/cli'

const TRANSACTION = `0x${'a'.repeat(64)}`
let DATABASE_URL: string
let pool: ReturnType<typeof openGatewayDatabase>['pool']
beforeAll(async () => {
  DATABASE_URL = await migratedDatabase('gateway')
  const database = openGatewayDatabase({ url: DATABASE_URL })
  closeLater(() => database.close())
  pool = database.pool
  await pool.query(
    `INSERT INTO pricing_plans (id, plan_name, network, chain_id, ecosystem, asset_address, asset_name, asset_version, amount, decimals,
       display_denom, credits, pay_to, updated_at)
     VALUES (1, 'Starter', 'base-sepolia', '84532', 'evm', '0x1', 'USDC', '2', 1000, 6, 'USDC', 10, '0x2', now())`,
  )
})
beforeEach(() => pool.query('TRUNCATE payments CASCADE'))
afterAll(closeAll)

const payments = (...args: string[]) => runMain(main, ['payments', ...args], { DATABASE_URL })

async function failed(reason: string, nonce?: string): Promise<string> {
  const id = randomUUID()
  await pool.query(
    `INSERT INTO payments (id, wallet, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, nonce, credits, request, status,
       error_reason, updated_at)
     VALUES ($1::uuid, '0x3', 1, 'base-sepolia', '84532', '0x1', 1000, '0x3', '0x2', $3, 10, '{}', 'failed', $2, now())`,
    [id, reason, nonce ?? id],
  )
  return id
}

test.each([
  ['was used', 'invalid_transaction_state'],
  ['was settled by the facilitator for a payment that the database lacks', 'duplicate_settlement'],
])(
  'a payment whose authorization %s is listed, and credited once with its transaction',
  async (_, reason) => {
    expect((await payments('spent')).out).toBe('no payment is spent\n')
    const [spent, poor] = [await failed(reason), await failed('insufficient_funds')]
    expect((await payments('spent')).out).toMatch(new RegExp(`^${spent} .* 10 credits {2}-\\n$`))

    expect(await payments('credit', poor, TRANSACTION)).toMatchObject({ code: 1 })
    expect(await payments('credit', spent)).toMatchObject({ code: 1 })
    expect(await payments('credit', spent, TRANSACTION)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`credited: ${spent}`) as string,
    })
    expect(await payments('credit', spent, TRANSACTION)).toMatchObject({ code: 1 })
    const { rows } = await pool.query('SELECT id, status, transaction FROM payments WHERE status <> $1', [
      'failed',
    ])
    expect(rows).toEqual([{ id: spent, status: 'settled', transaction: TRANSACTION }])
  },
)

test.each([
  ['spent', 'failed', 'DESC'],
  ['disputed', 'disputed', 'ASC'],
])('payments %s prints all, also of one time, once and in order', async (verb, status, order) => {
  await pool.query('TRUNCATE payments CASCADE')
  await pool.query(
    `INSERT INTO payments (id, wallet, pricing_plan_id, network, chain_id, asset, amount, payer, pay_to, nonce, credits, request, status,
       error_reason, updated_at)
     SELECT gen_random_uuid(), '0x3', 1, 'base-sepolia', '84532', '0x1', 1000, '0x3', '0x2', n::text, 10, '{}', $1,
       'invalid_transaction_state', '2026-11-26T10:00:00Z'::timestamptz + n / 700 * interval '1 second'
     FROM generate_series(1, 2001) n`,
    [status],
  )
  const { rows } = await pool.query<{ id: string }>(
    `SELECT id FROM payments ORDER BY updated_at ${order}, id ${order}`,
  )
  const { code, out } = await payments(verb)
  expect(code).toBe(0)
  expect(
    out
      .trim()
      .split('\n')
      .map((line) => line.slice(0, 36)),
  ).toEqual(rows.map(({ id }) => id))
  await pool.query('TRUNCATE payments CASCADE')
})

test('of the payments of one authorization, which its payer sent again, one is credited, also at once', async () => {
  const before = randomUUID()
  const sent = [
    await failed('invalid_transaction_state', `5 of ${before}`),
    await failed('invalid_transaction_state', `5 of ${randomUUID()}`),
    await failed('invalid_transaction_state', '5'),
  ]
  const other = await failed('invalid_transaction_state', '55')
  const credited = await Promise.all(sent.map((id) => payments('credit', id, TRANSACTION)))
  expect(credited.map(({ code }) => code).toSorted()).toEqual([0, 1, 1])
  for (const id of sent)
    expect(await payments('credit', id, TRANSACTION)).toMatchObject({
      code: 1,
      err: expect.stringContaining('another payment of its authorization') as string,
    })
  expect(await payments('credit', other, `0x${'B'.repeat(64)}`)).toMatchObject({
    code: 0,
    out: expect.stringContaining(`0x${'b'.repeat(64)}`) as string,
  })
})

describe('a transaction that another payment of the payer has', () => {
  const audit = async () => (await runMain(main, ['audit'], { DATABASE_URL })).out
  const VIOLATION = 'transaction_named_for_two_payments'
  const settle = (id: string, transaction: string) =>
    pool.query(
      "UPDATE payments SET status = 'settled', error_reason = NULL, transaction = $2, block_number = 7 WHERE id = $1",
      [id, transaction],
    )
  const failedTwo = async () =>
    [await failed('invalid_transaction_state'), await failed('invalid_transaction_state')] as const

  test.each([TRANSACTION, TRANSACTION.replace('0x', '').toUpperCase()])(
    'credits no second one, spelt %s',
    async (spelt) => {
      const [first, second] = await failedTwo()
      await settle(first, spelt)
      expect(await payments('credit', second, TRANSACTION.replaceAll('a', 'A'))).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          `payment ${first} of the same payer has this transaction.*--shared-transaction`,
        ) as string,
      })
      const { rows } = await pool.query('SELECT id FROM payments WHERE status <> $1', ['failed'])
      expect(rows).toEqual([{ id: first }])
    },
  )

  test('credits one of two at once', async () => {
    const both = await failedTwo()
    const credited = await Promise.all(both.map((id) => payments('credit', id, TRANSACTION)))
    expect(credited.map(({ code }) => code).toSorted()).toEqual([0, 1])
  })

  test('credits both if the operator says that it is shared, which the audit accepts', async () => {
    const [first, second] = await failedTwo()
    await payments('credit', first, TRANSACTION)
    expect(await payments('credit', second, TRANSACTION, '--shared-transaction')).toMatchObject({ code: 0 })
    expect(await payments('credit', second, TRANSACTION, '--shared-transaction')).toMatchObject({ code: 1 })
    expect(await audit()).not.toContain(VIOLATION)
  })

  test('is a violation if the facilitator names it later, until the operator confirms it', async () => {
    const [first, second] = await failedTwo()
    await payments('credit', first, TRANSACTION)
    expect(await audit()).not.toContain(VIOLATION)
    await settle(second, TRANSACTION)
    expect(await audit()).toContain(`1 × ${VIOLATION}`)
    expect(await payments('credit', first, TRANSACTION, '--shared-transaction')).toMatchObject({
      code: 0,
      out: expect.stringContaining(`confirmed: ${first}`) as string,
    })
    expect(await audit()).not.toContain(VIOLATION)
  })

  test('is no violation in a batch of the facilitator', async () => {
    for (const id of await failedTwo()) await settle(id, TRANSACTION)
    expect(await audit()).not.toContain(VIOLATION)
  })

  test('is one payment on a Cosmos network', async () => {
    const HASH = 'A'.repeat(64)
    const [first, second] = await failedTwo()
    await pool.query("UPDATE pricing_plans SET ecosystem = 'cosmos'")
    try {
      expect(await payments('credit', first, HASH.toLowerCase())).toMatchObject({
        code: 0,
        out: expect.stringContaining(HASH) as string,
      })
      expect((await payments('credit', second, HASH)).err).toMatch(
        /has this transaction, which is one payment\n$/,
      )
      expect((await payments('credit', second, HASH, '--shared-transaction')).err).toContain(
        'cannot be shared',
      )
      expect((await payments('credit', second, TRANSACTION)).err).toContain(
        '64 hexadecimal digits without 0x',
      )
    } finally {
      await pool.query("UPDATE pricing_plans SET ecosystem = 'evm'")
    }
  })
})

test('a hash is of the form of the network', async () => {
  const id = await failed('invalid_transaction_state')
  expect(await payments('credit', id, 'A'.repeat(64))).toMatchObject({
    code: 1,
    err: expect.stringContaining('(evm) is 0x and 64 hexadecimal digits') as string,
  })
})

test.each([
  [['credit', 'x'], 'requires the id of one payment'],
  [['credit', randomUUID(), '0x12'], 'is not the hash of a transaction'],
  [['close', randomUUID(), TRANSACTION], 'requires the id of one payment'],
  [['spent', 'x'], 'unexpected "x"'],
  [['credit', randomUUID(), '--shared-transaction'], '--shared-transaction requires a transaction'],
  [['close', randomUUID(), '--shared-transaction'], "Unknown option '--shared-transaction'"],
  [['--shared-transaction', 'credit', randomUUID(), TRANSACTION], 'options come after the command'],
  [['credit', randomUUID(), '--dry-run'], "Unknown option '--dry-run'"],
])('refuses %j', async (args, reason) => {
  expect(await payments(...args)).toMatchObject({ code: 2, err: expect.stringContaining(reason) as string })
})
