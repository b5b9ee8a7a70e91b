import { inTransaction, openFacilitatorDatabase, withTransaction, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { whileBlocked } from '../../testing/row-locks'
import { settlementRows } from '../../testing/settlement-rows'
import { startTcpProxy } from '../../testing/tcp-proxy'
import { createClaimStore } from '../claims/claim-store'
import { type Resolution, type Transition } from './store-resolution'
import { createTransactionStore } from './transaction-store'

let url: string
let pool: Pool
let rows: ReturnType<typeof settlementRows>
let client: string
beforeAll(async () => {
  url = await migratedDatabase('facilitator')
  pool = open(url)
  rows = settlementRows(pool)
  await rows.asset()
  client = await rows.client(await rows.user('shop@example.com'))
})
afterAll(closeAll)

function open(address: string): Pool {
  const database = openFacilitatorDatabase({ url: address })
  closeLater(database.close)
  return database.pool
}

const HASH = `0x${'aa'.repeat(32)}`
const NEXT_HASH = `0x${'bb'.repeat(32)}`
const block = { number: 20n, hash: `0x${'cc'.repeat(32)}` }
let versions = 0
const newHash = () => `0x${(++versions).toString(16).padStart(64, '0')}`

/** A signed transaction with settlements that wait for it. */
async function signed({ settlements = 1 } = {}) {
  const hash = newHash()
  const id = await rows.transaction({ versions: [hash] })
  const ids: bigint[] = []
  for (let count = 0; count < settlements; count++)
    ids.push(await rows.settlement(client, { status: 'signed', transactionId: id }))
  return { id, hash, ids, open: { id, transaction: { raw: 'raw', hash }, wasSubmitted: true } }
}

const mined = (hash: string, fee = 100n): Resolution => ({ status: 'mined', hash, block, fee })
const settledIn = (hash: string, ids: readonly bigint[]): Transition[] =>
  ids.map((id) => ({ id, status: 'settled', hash, blockNumber: block.number }))

const settlement = async (id: bigint) =>
  (
    await pool.query<Record<string, unknown>>(
      `SELECT status, transaction_id AS "transactionId", fee, attempts, error_reason AS reason,
         (SELECT coalesce(sum(a.fee), 0) FROM fee_allocations a WHERE a.settlement_id = settlements.id) AS allocated
       FROM settlements WHERE id = $1`,
      [id],
    )
  ).rows[0]!
const statusOf = async (id: bigint) =>
  (await pool.query<{ status: string }>('SELECT status FROM transactions WHERE id = $1', [id])).rows[0]!
    .status

const signerOf = async (id: bigint) =>
  (await pool.query<{ signer: string }>('SELECT signer FROM transactions WHERE id = $1', [id])).rows[0]!
    .signer
const ALL = { after: 0n, limit: 1_000 }

const moveToHeapEnd = (id: bigint) =>
  pool.query('UPDATE settlements SET updated_at = now() WHERE id = $1', [id])
const LOCK_SETTLEMENT = 'SELECT FROM settlements WHERE id = $1 FOR UPDATE'

describe('a mined transaction', () => {
  test('completes its settlements once, and divides its fee to the last unit', async () => {
    const { hash, ids, open: read } = await signed({ settlements: 3 })
    const store = createTransactionStore(pool)
    expect(await store.resolveTransaction(read, mined(hash), settledIn(hash, ids))).toBe(true)
    expect(await store.resolveTransaction(read, mined(hash), settledIn(hash, ids))).toBe(false)
    const after = await Promise.all(ids.map(settlement))
    expect(after).toMatchObject(
      ['34', '33', '33'].map((fee) => ({ status: 'settled', fee, allocated: fee, attempts: 0 })),
    )
  })

  test('adds its fee to a settlement that failed before, which it does not change otherwise', async () => {
    const { hash, ids, open: read } = await signed({ settlements: 2 })
    const [failed, other] = ids as [bigint, bigint]
    const store = createTransactionStore(pool)
    await store.fail(read, failed, { reason: 'payment_expired', detail: '' })
    expect(await store.resolveTransaction(read, mined(hash), settledIn(hash, ids))).toBe(true)
    expect(await settlement(failed)).toMatchObject({ status: 'failed', fee: '50', allocated: '50' })
    expect(await settlement(other)).toMatchObject({ status: 'settled', fee: '50', allocated: '50' })
  })

  test('leaves alone a settlement that another transaction gets meanwhile', async () => {
    const [old, next] = [await signed({ settlements: 2 }), await signed()]
    const [moved, other] = old.ids as [bigint, bigint]
    const store = createTransactionStore(pool)
    const isResolved = await whileBlocked(
      pool,
      (session) =>
        session.query('UPDATE settlements SET transaction_id = $2 WHERE id = $1', [moved, next.id]),
      () => store.resolveTransaction(old.open, mined(old.hash), settledIn(old.hash, old.ids)),
    )
    expect(isResolved).toBe(true)
    expect(await settlement(moved)).toMatchObject({ status: 'signed', transactionId: next.id, fee: '0' })
    expect(await settlement(other)).toMatchObject({ status: 'settled', fee: '100', allocated: '100' })
  })

  test('stores nothing if one of its statements fails', async () => {
    const { id, hash, ids, open: read } = await signed({ settlements: 2 })
    await pool.query(`
      CREATE FUNCTION refuse() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not this one'; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE OF status ON settlements FOR EACH ROW
        WHEN (NEW.id = ${ids[1]!}) EXECUTE FUNCTION refuse()`)
    const store = createTransactionStore(pool)
    await expect(store.resolveTransaction(read, mined(hash), settledIn(hash, ids))).rejects.toThrow(
      'not this one',
    )
    await pool.query('DROP TRIGGER refuse ON settlements')
    expect(await statusOf(id)).toBe('signed')
    const untouched = { status: 'signed', fee: '0', allocated: '0' }
    expect(await Promise.all(ids.map(settlement))).toMatchObject([untouched, untouched])
    expect(await store.resolveTransaction(read, mined(hash), settledIn(hash, ids))).toBe(true)
  })

  test('is resolved by another replica within seconds if the first stalls between two statements', async () => {
    const { hash, ids, open: read } = await signed()
    const proxy = await startTcpProxy(url)
    const stalled = createTransactionStore(open(proxy.url))
    const [settlementId] = ids
    let lost: Promise<unknown> = Promise.resolve()
    await whileBlocked(
      pool,
      (session) => session.query(LOCK_SETTLEMENT, [settlementId]),
      () => {
        lost = stalled
          .resolveTransaction(read, mined(hash), settledIn(hash, ids))
          .catch((error: unknown) => error)
        return Promise.resolve()
      },
      () => {
        proxy.become('silent')
      },
    )
    const startedAt = performance.now()
    const store = createTransactionStore(pool)
    expect(await store.resolveTransaction(read, mined(hash), settledIn(hash, ids))).toBe(true)
    expect(performance.now() - startedAt).toBeLessThan(6_000)
    proxy.become('open')
    expect(await lost).toBeInstanceOf(Error)
    expect(await settlement(settlementId!)).toMatchObject({ status: 'settled', fee: '100', allocated: '100' })
  }, 40_000)
})

test('a settlement that was claimed again with another transaction is not failed by the first one', async () => {
  const [old, next] = [await signed(), await signed()]
  const [id] = old.ids as [bigint]
  await pool.query('UPDATE settlements SET transaction_id = $2 WHERE id = $1', [id, next.id])
  const store = createTransactionStore(pool)
  const refusal = { reason: 'invalid_transaction_state', detail: '' } as const
  expect(await store.fail(old.open, id, refusal)).toBe(false)
  expect(await settlement(id)).toMatchObject({ status: 'signed' })
  expect(await store.fail(next.open, id, refusal)).toBe(true)
  expect(await settlement(id)).toMatchObject({ status: 'failed' })
})

describe('a superseded transaction', () => {
  const retry = (ids: readonly bigint[]): Transition[] => ids.map((id) => ({ id, status: 'claimed' }))

  test.each([
    ['replaced', "hash = 'replaced'", {}],
    ['submitted to a node', 'submitted_at = now()', { wasSubmitted: false }],
  ])('stays open if it was %s since it was read', async (_, change, was) => {
    const { id, ids, open: read } = await signed()
    await pool.query(`UPDATE transactions SET ${change} WHERE id = $1`, [id])
    const store = createTransactionStore(pool)
    const resolved = store.resolveTransaction({ ...read, ...was }, { status: 'superseded' }, retry(ids))
    expect(await resolved).toBe(false)
    expect(await settlement(ids[0]!)).toMatchObject({ status: 'signed', transactionId: id })
  })

  test('returns its settlements to be signed again, and costs nothing', async () => {
    const { id, ids, open: read } = await signed()
    const store = createTransactionStore(pool)
    expect(await store.resolveTransaction(read, { status: 'superseded' }, retry(ids))).toBe(true)
    expect(await statusOf(id)).toBe('superseded')
    expect(await settlement(ids[0]!)).toMatchObject({
      status: 'claimed',
      transactionId: null,
      attempts: 1,
      fee: '0',
    })
  })
})

describe('a version with higher fees', () => {
  const storeVersion = async (id: bigint, hash: string, nonce?: bigint) => {
    const session = await pool.connect()
    try {
      return await inTransaction(session, () =>
        createTransactionStore(pool).storeVersion(session, id, { raw: 'next', hash, cost: 5n }, nonce),
      )
    } finally {
      session.release()
    }
  }

  test('is stored with the settlements of its transaction', async () => {
    const { id, ids } = await signed()
    expect(await storeVersion(id, NEXT_HASH)).toBe(true)
    const { rows: stored } = await pool.query(
      `SELECT t.hash, t.raw, s.transaction_hash AS sent, (SELECT count(*) FROM transaction_versions v WHERE v.transaction_id = t.id) AS versions
       FROM transactions t JOIN settlements s ON s.transaction_id = t.id WHERE s.id = $1`,
      [ids[0]],
    )
    expect(stored).toEqual([{ hash: NEXT_HASH, raw: 'next', sent: NEXT_HASH, versions: 2n }])
  })

  test('is not stored once its transaction is resolved', async () => {
    const { id, hash, ids, open: read } = await signed()
    await createTransactionStore(pool).resolveTransaction(read, mined(hash), settledIn(hash, ids))
    expect(await storeVersion(id, HASH)).toBe(false)
    const { rows: stored } = await pool.query('SELECT FROM transaction_versions WHERE hash = $1', [HASH])
    expect(stored).toEqual([])
  })

  const versionsOf = async (id: bigint) =>
    (await createTransactionStore(pool).unmined({ network: 'base-sepolia', signer: await signerOf(id) }, ALL))
      .filter((one) => one.id === id)
      .map(({ transaction, nonce, hashes }) => ({ hash: transaction.hash, nonce, hashes }))

  test('that moves back to a nonce which its transaction had is its newest again', async () => {
    const { id, hash } = await signed()
    expect(await storeVersion(id, '0xmoved', 3n)).toBe(true)
    expect(await storeVersion(id, hash, 5n)).toBe(true)
    expect(await versionsOf(id)).toEqual([{ hash, nonce: 5n, hashes: [hash, '0xmoved'] }])
  })

  test('that a superseded transaction of the same payment had is its own', async () => {
    const hash = newHash()
    const superseded = await rows.transaction({ status: 'superseded', versions: [hash] })
    const { id, hash: first } = await signed()
    expect(await storeVersion(id, hash, 0n)).toBe(true)
    expect(await versionsOf(id)).toEqual([{ hash, nonce: 0n, hashes: [hash, first] }])
    expect(await statusOf(superseded)).toBe('superseded')
    const { rows: kept } = await pool.query(
      'SELECT hash FROM transaction_versions WHERE transaction_id = $1',
      [superseded],
    )
    expect(kept).toEqual([{ hash: `${hash} of ${superseded}` }])
    const { id: live, hash: taken } = await signed()
    await expect(storeVersion(id, taken, 0n)).rejects.toThrow('transactions_hash_key')
    expect(await statusOf(live)).toBe('signed')
  })

  test('cannot deadlock with the resolution of its transaction', async () => {
    const { id, ids } = await signed()
    const stored = whileBlocked(
      pool,
      (session) => session.query('SELECT FROM transactions WHERE id = $1 FOR UPDATE', [id]),
      () => storeVersion(id, newHash()),
      (session) => session.query(LOCK_SETTLEMENT, [ids[0]]),
    )
    expect(await stored).toBe(true)
  })
})

describe('settlements are locked in the order of their ids', () => {
  /** Another session locks the first by id, and then the last, which the statement must not hold yet. */
  async function inOrder(
    start: (one: Awaited<ReturnType<typeof signed>>) => Promise<unknown>,
  ): Promise<unknown> {
    const one = await signed({ settlements: 2 })
    const [low, high] = one.ids as [bigint, bigint]
    await moveToHeapEnd(low)
    return whileBlocked(
      pool,
      (session) => session.query(LOCK_SETTLEMENT, [low]),
      () => start(one),
      (session) => session.query(LOCK_SETTLEMENT, [high]),
    )
  }
  beforeAll(() => pool.query('DELETE FROM fee_allocations; DELETE FROM settlements; ANALYZE settlements'))

  test('by a resolution', () =>
    inOrder(({ open: read, hash, ids }) =>
      createTransactionStore(pool).resolveTransaction(read, mined(hash), settledIn(hash, ids)),
    ))

  test('by a note of what holds them up', () =>
    inOrder(({ ids }) => createClaimStore().noteProblem(pool, [...ids].reverse(), 'it waits')))
})

/** An asset of a network of its own. */
async function newAsset(network: string) {
  await rows.asset(network)
  const { rows: assets } = await pool.query<{ asset: string }>(
    'SELECT asset FROM assets WHERE network = $1',
    [network],
  )
  return {
    network,
    asset: assets[0]!.asset,
    suspension: async () =>
      (
        await pool.query<{ suspension: string | null }>('SELECT suspension FROM assets WHERE network = $1', [
          network,
        ])
      ).rows[0]!.suspension,
  }
}

describe('an asset is suspended', () => {
  const mismatch = { hash: HASH, blockNumber: block.number }
  const mismatched = { status: 'failed', reason: 'transfer_event_mismatch', detail: '', mismatch } as const

  test('by a mined transaction that moved another amount', async () => {
    const { network, suspension } = await newAsset('mismatched-when-mined')
    const hash = newHash()
    const id = await rows.transaction({ network, versions: [hash] })
    const settlementId = await rows.settlement(client, { network, status: 'signed', transactionId: id })
    const read = { id, transaction: { hash }, wasSubmitted: true }
    const store = createTransactionStore(pool)
    expect(await store.resolveTransaction(read, mined(hash), [{ id: settlementId, ...mismatched }])).toBe(
      true,
    )
    expect(await suspension()).toContain(`${HASH} moved another amount than settlement ${settlementId}`)
  })

  test('by a claim whose payment moved another amount', async () => {
    const { network, suspension } = await newAsset('mismatched-when-claimed')
    const settlementId = await rows.settlement(client, { network })
    await withTransaction(pool, (session) => createClaimStore().conclude(session, settlementId, mismatched))
    expect(await suspension()).toContain(`${HASH} moved another amount than settlement ${settlementId}`)
    expect(await settlement(settlementId)).toMatchObject({ status: 'failed', reason: mismatched.reason })
  })

  test('by its third fault within a day, recorded by two replicas at once', async () => {
    const { network, asset, suspension } = await newAsset('faulty')
    const [first, second, third] = (await Promise.all(
      [1n, 2n, 3n].map((nonce) => rows.transaction({ network, nonce, status: 'mined' })),
    )) as [bigint, bigint, bigint]
    const store = createTransactionStore(pool)
    expect(await store.noteAssetFault(first, { network, asset })).toBe(false)
    expect(await store.noteAssetFault(first, { network, asset })).toBe(false)
    const isSuspended = await whileBlocked(
      pool,
      async (session) => {
        await session.query('SELECT FROM assets WHERE network = $1 FOR UPDATE', [network])
        await session.query('INSERT INTO asset_faults (transaction_id, network, asset) VALUES ($1, $2, $3)', [
          second,
          network,
          asset,
        ])
      },
      () => store.noteAssetFault(third, { network, asset }),
    )
    expect(isSuspended).toBe(true)
    expect(await suspension()).toContain(`settlement transaction ${third}`)
  })
})
