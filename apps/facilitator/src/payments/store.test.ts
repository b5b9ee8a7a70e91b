import { openFacilitatorDatabase, type Pool, type PoolClient } from '@tollgate/database'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { sha256 } from '../digest'
import { createReorgStore } from '../settlement/reorgs/reorg-store'
import { createTransactionStore } from '../settlement/transactions/transaction-store'
import { untilBlocked, whileBlocked } from '../testing/row-locks'
import { startTcpProxy } from '../testing/tcp-proxy'
import { settlementRows } from '../testing/settlement-rows'
import { type PaymentRequest } from './payment-request'
import { createSettlementStore, type ClaimBasis, type NewClaim } from './store'

afterAll(closeAll)

const CALLERS = 20

let url: string
let pools: Pool[]
let clientId: string
let rows: ReturnType<typeof settlementRows>
beforeAll(async () => {
  url = await migratedDatabase('facilitator')
  pools = [1, 2].map(() => open(url))
  rows = settlementRows(pools[0]!)
  clientId = await rows.client(await rows.user('shop@example.com'))
  await rows.asset()
})

function open(address: string): Pool {
  const { pool, close } = openFacilitatorDatabase({ url: address, poolSize: 10 })
  closeLater(close)
  return pool
}

let payments = 0
const newRequest = () =>
  ({
    network: { name: 'base-sepolia' },
    terms: { token: { asset: USDC_ADDRESS }, payTo: '0xb', amount: 5n },
    payment: { payer: '0xa', nonce: String(++payments) },
    payload: {},
    requestHash: sha256('request'),
  }) as unknown as PaymentRequest

/** Claims the payment from many callers on two replicas at once. Returns the settlements that they got. */
async function claimAtOnce(
  request: PaymentRequest,
  basis: ClaimBasis = 'valid',
  until = new Date(Date.now() + 60_000),
) {
  const claims = await Promise.all(
    Array.from({ length: CALLERS }, (_, caller) =>
      claim(request, { pool: pools[caller % 2]!, basis, until, caller }),
    ),
  )
  return claims.filter((claimed) => claimed !== undefined)
}

type Overrides = Partial<Pick<NewClaim, 'arrived' | 'basis' | 'isOwnRecipient' | 'until'>> & {
  pool?: Pool
  caller?: number
}

const claim = (request: PaymentRequest, overrides: Overrides = {}) => {
  const { pool = pools[1]!, caller = 0, ...given } = overrides
  return createSettlementStore(pool).claim(
    request,
    { clientId, idempotencyKey: `order-${caller}`, requestHash: request.requestHash },
    {
      basis: 'valid',
      minBlock: 6n,
      unspentAtBlock: 7n,
      seenBlock: 8n,
      isSamePayment: false,
      requestId: `request-${caller}`,
      traceparent: undefined,
      until: new Date(Date.now() + 60_000),
      ...given,
    },
  )
}

const fail = (id: bigint, transactionHash: string | null = null, reason = 'payment_expired') =>
  pools[0]!.query(
    `UPDATE settlements SET status = 'failed', error_reason = $2, transaction_hash = $3 WHERE id = $1`,
    [id, reason, transactionHash],
  )

async function failedPayment(...failure: [transactionHash?: string | null, reason?: string]) {
  const request = newRequest()
  const [settlement] = await claimAtOnce(request)
  await fail(settlement!.id, ...failure)
  return { request, id: settlement!.id }
}

describe('of many callers on two replicas', () => {
  test('exactly one claims a new payment', async () => {
    for (let round = 0; round < 10; round++) expect(await claimAtOnce(newRequest())).toHaveLength(1)
  })

  test('exactly one reclaims a failed payment, as the same settlement', async () => {
    const { request, id } = await failedPayment()
    for (let round = 0; round < 10; round++) {
      const claims = await claimAtOnce(request)
      expect(claims).toMatchObject([{ id, status: 'claimed', errorReason: null }])
      await fail(id)
    }
  })

  test('a reclaim keeps the time of the first claim, and names what the new request is for', async () => {
    const request = { ...newRequest(), resource: '/first', paymentIdentifier: null }
    const { id } = (await claim(request))!
    const read = async () => {
      const { rows: found } = await pools[0]!.query<Record<string, unknown>>(
        `SELECT created_at AS "createdAt", first_claimed_at AS "firstClaimedAt", resource, payment_identifier AS identifier
         FROM settlements WHERE id = $1`,
        [id],
      )
      return found[0]!
    }
    const first = await read()
    expect(first).toMatchObject({ firstClaimedAt: null, resource: '/first', identifier: null })
    for (const resource of ['/second', '/third']) {
      await fail(id)
      await claim({ ...request, resource, paymentIdentifier: 'order-0123456789' })
      const again = await read()
      expect(again).toMatchObject({
        firstClaimedAt: first['createdAt'],
        resource,
        identifier: 'order-0123456789',
      })
      expect(Number(again['createdAt'])).toBeGreaterThan(Number(first['createdAt']))
    }
  })

  test('none claims a payment while it is claimed', async () => {
    const request = newRequest()
    await claimAtOnce(request)
    expect(await claimAtOnce(request)).toEqual([])
  })

  test('none claims after the window, whether the payment is new or failed', async () => {
    const past = new Date(Date.now() - 1_000)
    expect(await claimAtOnce(newRequest(), 'valid', past)).toEqual([])
    const { request } = await failedPayment()
    expect(await claimAtOnce(request, 'valid', past)).toEqual([])
  })
})

describe('in the statement of the claim', () => {
  /** Each test has its own recipient. */
  const requestTo = (payTo: string) => {
    const request = newRequest()
    return { ...request, terms: { ...request.terms, payTo } }
  }
  const reserve = (userId: number, payTo: string, network = 'base-sepolia') =>
    pools[0]!.query(
      `INSERT INTO reserved_recipients (user_id, network, address, proof) VALUES ($1, $2, $3, 'operator')`,
      [userId, network, payTo],
    )
  const ownerOf = async (id: string) => {
    const { rows: owners } = await pools[0]!.query<{ id: number }>(
      'SELECT user_id AS id FROM clients WHERE client_id = $1',
      [id],
    )
    return owners[0]!.id
  }

  test('a recipient that another user has reserved is refused, and a failed payment to it is not reclaimed', async () => {
    const [request, failedBefore] = [requestTo('0xr1'), requestTo('0xr1')]
    const [settlement] = await claimAtOnce(failedBefore)
    await fail(settlement!.id)
    await reserve(await rows.user('another@example.com'), '0xr1')
    expect([await claimAtOnce(request), await claimAtOnce(failedBefore)]).toEqual([[], []])
    expect(await claimAtOnce(requestTo('0xr2'))).toHaveLength(1)
  })

  test('one that its own user has reserved is claimed and reclaimed, as is one of another network', async () => {
    const request = requestTo('0xr3')
    await reserve(await ownerOf(clientId), '0xr3')
    const [settlement] = await claimAtOnce(request)
    await fail(settlement!.id)
    expect(await claimAtOnce(request)).toHaveLength(1)
    await reserve(await rows.user('third@example.com'), '0xr4', 'base')
    expect(await claimAtOnce(requestTo('0xr4'))).toHaveLength(1)
  })

  describe('a payment that has arrived', () => {
    const arrived = { hash: '0xt1', place: '0' }
    const claimArrived = (request: PaymentRequest, of = arrived) =>
      claim(request, { basis: 'arrived', arrived: of, isOwnRecipient: true })

    test('is claimed only while its own user has the recipient reserved', async () => {
      const request = requestTo('0xa1')
      expect(await claimArrived(request)).toBeUndefined()
      await reserve(await ownerOf(clientId), '0xa1')
      expect(await claimArrived(request)).toMatchObject({ transactionHash: '0xt1', arrived: true })
    })

    test('has its transfer alone, also where both are claimed at once, and one that failed gives it up', async () => {
      await reserve(await ownerOf(clientId), '0xa2')
      const of = { hash: '0xt2', place: '1' }
      const requests = Array.from({ length: CALLERS }, () => requestTo('0xa2'))
      const claimed = (await Promise.all(requests.map((request) => claimArrived(request, of)))).filter(
        Boolean,
      )
      expect(claimed).toHaveLength(1)
      const failedBefore = requestTo('0xa2')
      const [settlement] = await claimAtOnce(failedBefore)
      await fail(settlement!.id)
      expect(await claimArrived(failedBefore, of)).toBeUndefined()
      expect(await claimArrived(requestTo('0xa2'), { ...of, place: '2' })).toBeDefined()
      await fail(claimed[0]!.id)
      expect(await claimArrived(failedBefore, of)).toMatchObject({ transactionHash: '0xt2', arrived: true })
      const reopen = `UPDATE settlements SET status = 'claimed', error_reason = NULL, transaction_hash = '0xt2' WHERE id = $1`
      await expect(pools[0]!.query(reopen, [claimed[0]!.id])).rejects.toThrow('settlements_transfer_key')
    })
  })

  test('a denied payer or recipient is refused, and a failed payment of it is not reclaimed', async () => {
    const failedBefore = requestTo('0xd1')
    const [settlement] = await claimAtOnce(failedBefore)
    await fail(settlement!.id)
    const deny = (address: string) =>
      pools[0]!.query('INSERT INTO denied_addresses (address) VALUES ($1)', [address])
    await deny('0xd1')
    expect([await claimAtOnce(requestTo('0xd1')), await claimAtOnce(failedBefore)]).toEqual([[], []])
    const { payment, ...rest } = requestTo('0xd2')
    await deny('0xd3')
    expect(await claimAtOnce({ ...rest, payment: { ...payment, payer: '0xd3' } })).toEqual([])
  })
})

describe('a failed payment that was broadcast', () => {
  test.each<[ClaimBasis, number]>([
    ['valid', 0],
    ['paid', 1],
    ['unused', 1],
  ])('that is %s is reclaimed by %d callers', async (basis, count) => {
    const { request } = await failedPayment('0x1')
    expect(await claimAtOnce(request, basis)).toHaveLength(count)
  })

  test.each<[string, Parameters<typeof rows.transaction>[0], number]>([
    ['not reclaimed as unused once a transaction of its payer was mined', { nonce: null }, 0],
    ['not reclaimed as unused once one that we signed too was mined', { nonce: 7n }, 0],
    ['reclaimed as unused after a fee grant was mined', { nonce: 7n, isFeeGrant: true }, 1],
  ])('is %s', async (_, transaction, count) => {
    const { request, id } = await failedPayment('0x1')
    await rows.charge(await rows.transaction({ ...transaction, status: 'mined' }), id, '0')
    expect(await claimAtOnce(request, 'unused')).toHaveLength(count)
  })

  test('is never reclaimed if it moved another amount', async () => {
    const { request } = await failedPayment('0x1', 'transfer_event_mismatch')
    for (const basis of ['valid', 'paid', 'unused'] as const)
      expect(await claimAtOnce(request, basis)).toEqual([])
  })
})

const pool = () => pools[0]!
const lock = (id: bigint) => (session: PoolClient) =>
  session.query('SELECT FROM settlements WHERE id = $1 FOR UPDATE', [id])
const read = async (id: bigint) =>
  (
    await pool().query<{ status: string; transactionId: bigint | null; fee: string }>(
      'SELECT status, transaction_id AS "transactionId", fee FROM settlements WHERE id = $1',
      [id],
    )
  ).rows[0]!

const untilIdleInTransaction = async () => {
  const idle = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`
  while ((await pool().query(idle)).rowCount !== 1);
}

/** A payment that failed in a payer's transaction, which is still open. */
async function failedInOpenTransaction(hash: string, nonce: bigint | null = null) {
  const { request, id } = await failedPayment(hash)
  const transactionId = await rows.transaction({ nonce, versions: [hash] })
  await pool().query('UPDATE settlements SET transaction_id = $2 WHERE id = $1', [id, transactionId])
  const block = { number: 20n, hash: `${hash} block` }
  const resolve = (on = pool()) =>
    createTransactionStore(on).resolveTransaction(
      { id: transactionId, transaction: { hash }, wasSubmitted: true },
      { status: 'mined', hash, block, fee: 0n },
      [],
    )
  return { request, id, transactionId, block, resolve }
}

describe('while a claim runs', () => {
  test('one of a new payment is a single statement', async () => {
    const statements: unknown[] = []
    const counted = {
      query: (...query: [string, unknown[]]) => {
        statements.push(query[0])
        return pool().query(...query)
      },
      connect: () => Promise.reject(new Error('A new payment needs no transaction')),
    } as unknown as Pool
    expect(await claim(newRequest(), { pool: counted })).toMatchObject({ status: 'claimed' })
    expect(statements).toHaveLength(1)
  })

  test("a resolution that stores the payer's transaction as mined first leaves nothing to reclaim", async () => {
    const { request, id, transactionId } = await failedInOpenTransaction('0xa1')
    const claimed = await whileBlocked(
      pool(),
      lock(id),
      () => claim(request, { basis: 'unused' }),
      (session) =>
        session.query('INSERT INTO fee_allocations (transaction_id, settlement_id, fee) VALUES ($1, $2, 0)', [
          transactionId,
          id,
        ]),
    )
    expect(claimed).toBeUndefined()
    expect(await read(id)).toMatchObject({ status: 'failed', transactionId })
  })

  test('a resolution waits for the claim, and leaves the claim alone', async () => {
    const { request, id, transactionId, resolve } = await failedInOpenTransaction('0xa2')
    let resolved: Promise<boolean> | undefined
    const claimed = await whileBlocked(
      pool(),
      (session) => session.query('LOCK TABLE fee_allocations IN ACCESS EXCLUSIVE MODE'),
      () => claim(request, { basis: 'unused' }),
      async () => {
        resolved = resolve()
        await untilBlocked(pool(), 2)
      },
    )
    expect(claimed).toMatchObject({ id, status: 'claimed' })
    expect(await resolved).toBe(true)
    expect(await read(id)).toMatchObject({ status: 'claimed', transactionId: null })
    const { rowCount } = await pool().query('SELECT FROM fee_allocations WHERE transaction_id = $1', [
      transactionId,
    ])
    expect(rowCount).toBe(0)
  })

  test('a reversal that reopens the settlement first leaves nothing to reclaim', async () => {
    const { request, id, transactionId, block, resolve } = await failedInOpenTransaction('0xa3', 3n)
    await resolve()
    let reversed: Promise<unknown> | undefined
    let claimed: Promise<unknown> | undefined
    await whileBlocked(
      pool(),
      lock(id),
      () => (reversed = createReorgStore(pool()).reverse(transactionId, block)),
      async () => {
        claimed = claim(request, { basis: 'paid' })
        await untilBlocked(pool(), 2)
      },
    )
    expect(await reversed).toEqual({ reversed: [], reopened: [id] })
    expect(await claimed).toBeUndefined()
    expect(await read(id)).toMatchObject({ status: 'signed', transactionId })
  })

  test('a reversal does not reopen what the claim took first', async () => {
    const { request, id, transactionId, block, resolve } = await failedInOpenTransaction('0xa4', 4n)
    await resolve()
    let reversed: Promise<unknown> | undefined
    let claimed: Promise<unknown> | undefined
    await whileBlocked(
      pool(),
      lock(id),
      () => (claimed = claim(request, { basis: 'paid' })),
      async () => {
        reversed = createReorgStore(pool()).reverse(transactionId, block)
        await untilBlocked(pool(), 2)
      },
    )
    expect(await claimed).toMatchObject({ id, status: 'claimed' })
    expect(await reversed).toEqual({ reversed: [], reopened: [] })
    expect(await read(id)).toMatchObject({ status: 'claimed', transactionId: null })
  })

  test('a claim does not wait for a signing round that has locked the settlement', async () => {
    const request = newRequest()
    const first = await claim(request)
    const session = await pool().connect()
    try {
      await session.query('BEGIN')
      await lock(first!.id)(session)
      expect(await claim(request)).toBeUndefined()
    } finally {
      session.release(true)
    }
  })

  test('a claim that waits until its window is over claims nothing', async () => {
    const { request, id } = await failedPayment()
    const until = new Date(Date.now() + 4_000)
    const claimed = await whileBlocked(
      pool(),
      lock(id),
      () => claim(request, { until }),
      (session) => session.query('SELECT pg_sleep(2.5)'),
    )
    expect(claimed).toBeUndefined()
    expect((await read(id)).status).toBe('failed')
  })

  test.each([
    ['stalls', 'silent'],
    ['dies', 'shut'],
  ] as const)(
    'another replica claims within seconds if the first %s with the settlement locked',
    async (_, state) => {
      const { request, id } = await failedPayment()
      const proxy = await startTcpProxy(url)
      const stalled = open(proxy.url)
      let lost: Promise<unknown> = Promise.resolve()
      await whileBlocked(
        pool(),
        lock(id),
        () => {
          lost = claim(request, { pool: stalled }).catch((error: unknown) => error)
          return Promise.resolve()
        },
        () => {
          proxy.become(state)
          return Promise.resolve()
        },
      )
      if (state === 'silent') await untilIdleInTransaction()
      const startedAt = performance.now()
      expect(await claim(request)).toMatchObject({ id, status: 'claimed' })
      expect(performance.now() - startedAt).toBeLessThan(6_000)
      proxy.become('open')
      expect(await lost).toBeInstanceOf(Error)
    },
    40_000,
  )
})
