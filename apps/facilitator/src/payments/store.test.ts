import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { sha256 } from '../digest'
import { settlementRows } from '../testing/settlement-rows'
import { type PaymentRequest } from './payment-request'
import { createSettlementStore, type ClaimBasis } from './store'

afterAll(closeAll)

const CALLERS = 20

let pools: Pool[]
let clientId: string
let rows: ReturnType<typeof settlementRows>
beforeAll(async () => {
  const url = await migratedDatabase('facilitator')
  pools = [1, 2].map(() => {
    const { pool, close } = openFacilitatorDatabase({ url, poolSize: 10 })
    closeLater(close)
    return pool
  })
  rows = settlementRows(pools[0]!)
  clientId = await rows.client(await rows.user('shop@example.com'))
  await rows.asset()
})

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
  const stores = pools.map(createSettlementStore)
  const claims = await Promise.all(
    Array.from({ length: CALLERS }, (_, caller) =>
      stores[caller % 2]!.claim(
        request,
        { clientId, idempotencyKey: `order-${caller}`, requestHash: request.requestHash },
        {
          basis,
          minBlock: 6n,
          judgedBlock: 7n,
          seenBlock: 8n,
          isSamePayment: false,
          requestId: `request-${caller}`,
          until,
        },
      ),
    ),
  )
  return claims.filter((claim) => claim !== undefined)
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

describe('a failed payment that was broadcast', () => {
  test.each<[ClaimBasis, number]>([
    ['valid', 0],
    ['paid', 1],
    ['unused', 1],
  ])('that is %s is reclaimed by %d callers', async (basis, count) => {
    const { request } = await failedPayment('0x1')
    expect(await claimAtOnce(request, basis)).toHaveLength(count)
  })

  test('is not reclaimed as unused once a transaction of its payer was mined', async () => {
    const { request, id } = await failedPayment('0x1')
    await rows.charge(await rows.transaction({ nonce: null, status: 'mined' }), id, '0')
    expect(await claimAtOnce(request, 'unused')).toEqual([])
  })

  test('is never reclaimed if it moved another amount', async () => {
    const { request } = await failedPayment('0x1', 'transfer_event_mismatch')
    for (const basis of ['valid', 'paid', 'unused'] as const)
      expect(await claimAtOnce(request, basis)).toEqual([])
  })
})
