import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { newAccount } from '../testing/accounts'
import { newPayer } from '../testing/chain'
import { testFacilitator, type ClientHeaders } from '../testing/facilitator'
import { withManualMining } from '../testing/manual-mining'
import { paymentRequest, type PaymentRequest } from '../testing/payment'
import { withTwoSigners } from '../testing/two-signers'

afterAll(closeAll)

/** A few settlements on a development chain. */
const CAP = 10n ** 15n
/** Less than two settlements. */
const SMALL_CAP = CAP / 2n
const IMPATIENT = { SETTLE_TIMEOUT_SECONDS: '1' }

type World = Awaited<ReturnType<typeof withManualMining>>

const payments = (rpcUrl: string, count: number): Promise<PaymentRequest[]> =>
  Promise.all(Array.from({ length: count }, async () => paymentRequest(await newPayer(rpcUrl))))

/** Why the payment is refused, or `sent` once a transaction is signed for it. */
async function decided({ settle }: Pick<World, 'settle'>, body: PaymentRequest, key: ClientHeaders) {
  for (;;) {
    const { errorReason, transaction } = await settle(body, key)
    if (errorReason !== 'settlement_pending') return errorReason
    if (transaction !== '') return 'sent'
  }
}

async function reserved({ pool }: Pick<World, 'pool'>, key: ClientHeaders): Promise<bigint> {
  const { rows } = await pool.query<{ part: string }>(
    'SELECT coalesce(sum(part), 0) AS part FROM fee_shares WHERE client_id = $1',
    [key['X-Client-ID']],
  )
  return BigInt(rows[0]!.part)
}

test.concurrent.each([
  ['without a daily fee limit', undefined],
  ['with one', 10n ** 18n],
])(
  'a client key over its cap of fees is refused, and no other key, %s of the network',
  async (_, maxFeesPerDay) => {
    const on = await withManualMining({
      ...(maxFeesPerDay === undefined ? {} : { maxFeesPerDay }),
      variables: IMPATIENT,
    })
    const account = await newAccount(on.facilitator.api)
    const capped = await account.newKey({ max_fees_per_day: String(SMALL_CAP) })
    const other = await account.newKey()
    const [first, second, third, fourth] = (await payments(on.rpcUrl, 4)) as [
      PaymentRequest,
      PaymentRequest,
      PaymentRequest,
      PaymentRequest,
    ]
    expect(await decided(on, first, capped)).toBe('sent')
    expect(await decided(on, second, capped)).toBe('fee_allowance_exceeded')
    // What /verify reads is at most a second old.
    await delay(1_000)
    expect(await on.verify(third, capped)).toMatchObject({
      isValid: false,
      invalidReason: 'fee_allowance_exceeded',
    })
    expect(await decided(on, third, other)).toBe('sent')
    expect(await decided(on, fourth, on.client)).toBe('sent')
    await on.mineUntil("settlements WHERE status = 'settled'", 3)
  },
)

test.concurrent('forty concurrent payments of a key on two replicas and two signers never reserve more than its cap', async () => {
  const { rpcUrl, pool, ...one } = await withTwoSigners({
    variables: { SETTLE_TIMEOUT_SECONDS: '20' },
  })
  const other = await testFacilitator(one.facilitator.settings)
  const key = await (await newAccount(one.api)).newKey({ max_fees_per_day: String(CAP) })
  const bodies = await payments(rpcUrl, 40)
  const settled = await Promise.all(
    bodies.map(async (body, n) => {
      const { api } = n % 2 === 0 ? one : other
      return (await api.post('/api/v1/settle').set(key).send(body).expect(200)).body as SettleResult
    }),
  )
  const own = await reserved({ pool }, key)
  expect([own > 0n, own <= CAP]).toEqual([true, true])
  const reasons = new Set(settled.map(({ errorReason }) => errorReason))
  expect(reasons).toEqual(new Set(['settlement_pending', 'fee_allowance_exceeded']))
})
