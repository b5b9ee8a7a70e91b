import { closeAll } from '@tollgate/testing'
import { randomBytes, randomUUID } from 'node:crypto'
import { findViolations, insertPayment } from '../testing/accounts'
import { endingOf, lockAccount, openLedgers, waitForLockWaiter, type TestLedgers } from '../testing/ledgers'
import { type Authority } from './ledger-sql'

let books: TestLedgers
beforeAll(async () => (books = await openLedgers()))
afterAll(closeAll)

async function keyOf(wallet: string, limits: { max_credits?: number; max_credits_per_day?: number } = {}) {
  const id = randomUUID()
  await books.pool.query(
    `INSERT INTO access_keys (id, hash, wallet, pricing_plan_id, label, max_credits, max_credits_per_day)
     VALUES ($1, $2, $3, 1, 'key', $4, $5)`,
    [id, randomBytes(32), wallet, limits.max_credits ?? null, limits.max_credits_per_day ?? null],
  )
  return { kind: 'key', id } as const
}

/** A payment that was credited and serves one call. */
async function paymentOf(wallet: string) {
  const id = await insertPayment(books.pool, { wallet, credits: 10 })
  await books.pool.query("UPDATE payments SET call_state = 'open', presented_by = $2 WHERE id = $1", [
    id,
    randomBytes(32),
  ])
  await books.ledgers[0].grant(id)
  return { kind: 'payment', id } as const
}

const callStateOf = async ({ id }: Authority) =>
  (await books.pool.query<{ call_state: string }>('SELECT call_state FROM payments WHERE id = $1', [id]))
    .rows[0]?.call_state

const spentBy = async ({ id }: Authority) =>
  (
    await books.pool.query<{ spent: bigint; day: bigint }>(
      'SELECT spent, spent_on_day AS day FROM access_keys WHERE id = $1',
      [id],
    )
  ).rows[0]

/** Both replicas read their authority before either has the account. */
async function spendAtOnce(wallet: string, charges: Parameters<(typeof books.ledgers)[0]['spend']>[0][]) {
  const release = await lockAccount(books.pool, wallet)
  const spends = charges.map((charge, index) => books.ledgers[index % 2]!.spend(charge))
  await waitForLockWaiter(books.pool, 2)
  await release()
  return (await Promise.all(spends)).map(({ outcome }) => outcome).sort()
}

test('a payment serves one call of two replicas that both found it open', async () => {
  const { wallet, call } = await books.spender(10)
  const authority = await paymentOf(wallet)
  const charge = call(1, { authority })
  expect(await spendAtOnce(wallet, [charge, charge])).toEqual(['paid', 'revoked'])
  expect(await callStateOf(authority)).toBe('reserved')
})

test('a key keeps its limit on two replicas that both read what it had spent', async () => {
  const { wallet, call } = await books.spender(10)
  for (const limits of [{ max_credits: 1 }, { max_credits_per_day: 1 }]) {
    const charge = call(1, { authority: await keyOf(wallet, limits) })
    expect(await spendAtOnce(wallet, [charge, charge])).toEqual(['key_limit', 'paid'])
  }
})

test('a key that is deleted while its call waits for the account is not charged', async () => {
  const { wallet, call, balance } = await books.spender(10)
  const authority = await keyOf(wallet)
  const release = await lockAccount(books.pool, wallet)
  const spends = [0, 1].map((index) => books.ledgers[index]!.spend(call(1, { authority })))
  await waitForLockWaiter(books.pool, 2)
  await books.pool.query('UPDATE access_keys SET deleted_at = now() WHERE id = $1', [authority.id])
  await release()
  expect(await Promise.all(spends)).toEqual([{ outcome: 'revoked' }, { outcome: 'revoked' }])
  expect(await balance()).toBe(10n)
})

test('a payment that is not credited yet, or of another wallet, pays nothing', async () => {
  const { wallet, call } = await books.spender(10)
  const id = await insertPayment(books.pool, { wallet, credits: 10 })
  await books.pool.query("UPDATE payments SET call_state = 'open' WHERE id = $1", [id])
  const authority = { kind: 'payment', id } as const
  expect(await books.ledgers[0].spend(call(1, { authority }))).toEqual({ outcome: 'revoked' })
  await books.ledgers[0].grant(id)
  const other = await books.spender(5)
  const spent = await books.ledgers[0].spend(other.call(1, { authority }))
  expect(spent).toMatchObject({ outcome: 'paid', remaining: 19n })
  expect(await other.balance()).toBe(5n)
})

test('an end gives back to the key and opens the payment once, also for an orphan and a charge that is taken back', async () => {
  const { wallet, call } = await books.spender(10)
  const [ledger] = books.ledgers
  const key = await keyOf(wallet, { max_credits: 5, max_credits_per_day: 5 })
  const payment = await paymentOf(wallet)
  const usageOf = async (authority: Authority) => {
    const spent = await ledger.spend(call(2, { authority }))
    if (spent.outcome !== 'paid') throw new Error(spent.outcome)
    return spent.usageId
  }
  const [byKey, byPayment] = [await usageOf(key), await usageOf(payment)]
  expect(await spentBy(key)).toEqual({ spent: 2n, day: 2n })
  await Promise.all([byKey, byPayment].map((id) => ledger.finish(endingOf(id, 'refunded'))))
  await ledger.finish(endingOf(byKey, 'refunded'))
  expect([await spentBy(key), await callStateOf(payment)]).toEqual([{ spent: 0n, day: 0n }, 'open'])

  const again = await usageOf(payment)
  await ledger.finish(endingOf(again, 'done'))
  expect(await callStateOf(payment)).toBe('served')
  await ledger.finish({ ...endingOf(again, 'refunded'), takesBack: true })
  expect(await callStateOf(payment)).toBe('open')

  const yesterday = await usageOf(key)
  await books.pool.query("UPDATE usage SET created_at = created_at - INTERVAL '1 day' WHERE id = $1", [
    yesterday,
  ])
  await usageOf(key)
  await ledger.finish(endingOf(yesterday, 'refunded'))
  expect(await spentBy(key)).toEqual({ spent: 2n, day: 4n })
})

test('an end that gives a part back gives it to the account and the key once, and the call is served', async () => {
  const { wallet, call, balance } = await books.spender(10)
  const [key, payment] = [await keyOf(wallet), await paymentOf(wallet)]
  const [ledger] = books.ledgers
  for (const authority of [key, payment]) {
    const spent = await ledger.spend(call(5, { authority }))
    if (spent.outcome !== 'paid') throw new Error('The call was not paid')
    const ending = { ...endingOf(spent.usageId), returned: 3 }
    expect([await ledger.finish(ending), await ledger.finish(ending)]).toEqual([true, false])
  }
  expect(await balance()).toBe(16n)
  expect(await spentBy(key)).toEqual({ spent: 2n, day: 2n })
  expect(await callStateOf(payment)).toBe('served')
  expect(await books.usageOf(wallet)).toMatchObject([
    { credits: 2, state: 'done' },
    { credits: 2, state: 'done' },
  ])
})

test('the books balance', async () => {
  expect(await findViolations(books.pool)).toEqual([])
})
