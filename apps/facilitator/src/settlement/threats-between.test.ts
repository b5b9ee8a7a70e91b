import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { type BaseWallet } from 'ethers'
import { cancellation } from '../testing/cancel'
import { callRpc, newPayer, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { SENT } from '../testing/hostile'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, paymentRequest, type PaymentRequest } from '../testing/payment'
import { outbid } from '../testing/third-party'

const GWEI = 1_000_000_000n
const rpcUrl = sharedChain()
let lateMs = 0
let ground: FacilitatorWithClient
beforeAll(async () => {
  ground = await facilitatorWithClient({ now: () => new Date(Date.now() + lateMs) })
})
afterAll(closeAll)

/** The payer takes its authorization back, in a transaction that somebody sends for it. */
async function cancel(payer: BaseWallet, body: PaymentRequest): Promise<void> {
  const data = await cancellation(payer, body)
  await callRpc(rpcUrl, 'anvil_setBalance', payer.address, '0xde0b6b3a7640000')
  await callRpc(rpcUrl, 'anvil_impersonateAccount', payer.address)
  await callRpc(rpcUrl, 'eth_sendTransactionSync', { from: payer.address, to: USDC_ADDRESS, data })
}

const hold = (address: string, units: bigint) =>
  callRpc(rpcUrl, 'anvil_dealERC20', address, USDC_ADDRESS, `0x${units.toString(16)}`)

describe('a payment that verify accepted and cached is refused by settle, without claim or gas, once', () => {
  type Change = (payer: BaseWallet, body: PaymentRequest) => Promise<unknown>
  test.each<[string, string, Change]>([
    ['the payer is drained', 'insufficient_funds', ({ address }) => hold(address, 0n)],
    ['the payer has one unit too few', 'insufficient_funds', ({ address }) => hold(address, AMOUNT - 1n)],
    [
      'the payer has paid somebody else with it',
      'insufficient_funds',
      async (payer) => {
        await hold(payer.address, AMOUNT)
        expect(await ground.settle(await paymentRequest(payer))).toMatchObject({ success: true })
      },
    ],
    ['the authorization is cancelled', 'invalid_transaction_state', cancel],
    [
      'the authorization is about to lapse',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => Promise.resolve((lateMs = 56_000)),
    ],
    [
      'the asset is withdrawn',
      'invalid_payment_requirements',
      () => ground.facilitator.database.prisma.asset.updateMany({ data: { active: false } }),
    ],
  ])('%s', async (_, reason, change) => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    expect(await ground.verify(body)).toMatchObject({ isValid: true, cachedResult: false })
    expect(await ground.verify(body)).toMatchObject({ isValid: true, cachedResult: true })
    await change(payer, body)
    const { settlement, asset } = ground.facilitator.database.prisma
    const before = [await ground.sent(), await settlement.count()]
    try {
      expect(await ground.settle(body)).toMatchObject({
        success: false,
        errorReason: reason,
        transaction: '',
      })
      expect([await ground.sent(), await settlement.count()]).toEqual(before)
    } finally {
      lateMs = 0
      await asset.updateMany({ data: { active: true } })
    }
  })
})

test('verify and settle agree for any remaining validity, and what they accept is paid', async () => {
  const clock = { now: () => new Date() }
  const paused = await withManualMining({ now: () => clock.now() })
  const stopped = new Date()
  clock.now = () => stopped
  const second = Math.floor(stopped.getTime() / 1_000)
  const bodies = await Promise.all(
    Array.from({ length: 9 }, async (_, index) => {
      const validBefore = String(second + index + 1)
      return paymentRequest(await newPayer(paused.rpcUrl), { authorization: { validBefore } })
    }),
  )
  const verify = async (body: PaymentRequest) =>
    (await paused.facilitator.api.post('/api/v1/verify').set(paused.client).send(body).expect(200)).body as {
      isValid: boolean
    }
  const verificationCache = await Promise.all(bodies.map(verify))
  // A settlement may take six seconds here.
  expect(verificationCache.map(({ isValid }) => isValid)).toEqual([
    ...Array<boolean>(6).fill(false),
    true,
    true,
    true,
  ])

  const settling = bodies.map((body) => paused.settle(body))
  await paused.until(SENT, 3)
  await callRpc(paused.rpcUrl, 'evm_setNextBlockTimestamp', `0x${(second + 1).toString(16)}`)
  await paused.mine()
  const results = await Promise.all(settling)
  expect(results.map(({ success }) => success)).toEqual(verificationCache.map(({ isValid }) => isValid))
  expect(new Set(results.slice(0, 6).map(({ errorReason }) => errorReason))).toEqual(
    new Set(['invalid_exact_evm_payload_authorization_valid_before']),
  )
  const transfers = await Promise.all(
    bodies.map(({ paymentPayload }) =>
      transfersFrom(paused.rpcUrl, paymentPayload.payload.authorization.from),
    ),
  )
  expect(transfers.map(({ length }) => length)).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1])
})

test('nothing is sent while gas prices exceed the cap, and no nonce is lost', async () => {
  const paused = await withManualMining({ maxFeePerGas: 20n * GWEI })
  const setFee = async (fee: bigint) => {
    await callRpc(paused.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', `0x${fee.toString(16)}`)
    await paused.mine()
  }
  const [payer, patient] = [await newPayer(paused.rpcUrl), await newPayer(paused.rpcUrl)]
  const body = await paymentRequest(payer)
  await setFee(200n * GWEI)
  expect(await paused.settle(body)).toMatchObject({ success: false, transaction: '' })
  expect((await paused.pool.query('SELECT FROM transactions')).rowCount).toBe(0)

  await setFee(GWEI)
  const settling = [paused.settle(body), paused.settle(await paymentRequest(patient))]
  await paused.until(SENT, 2)
  await paused.mine()
  expect((await Promise.all(settling)).map(({ success }) => success)).toEqual([true, true])
  const { rows } = await paused.pool.query<{ nonce: bigint }>('SELECT nonce FROM transactions ORDER BY nonce')
  expect(rows.map(({ nonce }) => Number(nonce))).toEqual(rows.map((_, index) => index))
  expect(await transactionCount(paused.rpcUrl, paused.signer.address)).toBe(rows.length)
  for (const { address } of [payer, patient])
    expect(await transfersFrom(paused.rpcUrl, address)).toHaveLength(1)
})

test('a payment that a third party settles first is reported once, with its transaction', async () => {
  const paused = await withManualMining()
  const payer = await newPayer(paused.rpcUrl)
  const body = await paymentRequest(payer)
  const settling = paused.settle(body)
  await paused.until(SENT, 1)
  const theirs = await outbid(paused.rpcUrl, body)
  await paused.mine()
  expect(await settling).toMatchObject({ success: true, transaction: theirs })
  expect(await paused.settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
  expect(await transfersFrom(paused.rpcUrl, payer.address)).toHaveLength(1)
})
