import { alterFaultyToken, deployFaultyToken, USDC_ADDRESS, type TokenFault } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { id } from 'ethers'
import { callRpc, newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { SENT, signInDomain } from '../testing/hostile'
import { AMOUNT, inSeconds, paymentRequest } from '../testing/payment'
import { withManualMining } from '../testing/manual-mining'

const ADMIN_TOKEN = 'the admin token of this test, long enough'
const rpcUrl = sharedChain()
let harness: FacilitatorWithClient
beforeAll(async () => {
  harness = await facilitatorWithClient({ variables: { ADMIN_TOKEN, SETTLE_TIMEOUT_SECONDS: '3' } })
})
afterAll(closeAll)

/** A token that was valid when it was registered, and payments in it. */
async function registeredToken() {
  const asset = await deployFaultyToken(rpcUrl)
  await harness.facilitator.api
    .post('/admin/assets')
    .set({ Authorization: `Bearer ${ADMIN_TOKEN}` })
    .send({ network: 'base-sepolia', asset, symbol: 'FLT', decimals: 6 })
    .expect(200)
  const payer = await newPayer(rpcUrl)
  await callRpc(rpcUrl, 'anvil_dealERC20', payer.address, asset, `0x${(100n * AMOUNT).toString(16)}`)
  const domain = { name: 'Faulty', version: '1' }
  const newPayment = async () =>
    signInDomain(
      payer,
      await paymentRequest(payer, {
        requirements: { asset, extra: domain },
        authorization: { validBefore: inSeconds(30) },
      }),
      { ...domain, verifyingContract: asset },
    )
  const transfers = async () => {
    const from = `0x${payer.address.slice(2).toLowerCase().padStart(64, '0')}`
    const topics = [id('Transfer(address,address,uint256)'), from]
    return (await callRpc(rpcUrl, 'eth_getLogs', { address: asset, fromBlock: '0x0', topics })) as unknown[]
  }
  return { asset, newPayment, transfers }
}

describe('a payment in a registered token is no success and costs at most one transaction if its owner changes it so that it', () => {
  test.each<[string, TokenFault]>([
    ['reverts', 'Reverts'],
    ['never returns', 'Endless'],
    ['moves the money without an event', 'NoTransferEvent'],
    ['names another amount in its event', 'WrongTransferEvent'],
    ['does not name the authorization', 'NoUsedEvent'],
    ['has no authorizations any more', 'NoStandard'],
  ])('%s', async (_, fault) => {
    const { asset, newPayment } = await registeredToken()
    const body = await newPayment()
    await alterFaultyToken(rpcUrl, asset, { fault })
    const sent = await harness.sent()
    const result = await harness.settle(body)
    expect(result).toMatchObject({ success: false })
    expect(await harness.settle(body)).toMatchObject({ success: false })
    expect((await harness.sent()) - sent).toBeLessThanOrEqual(1)
  })
})

test('if a token calls an authorization used without any event, nothing is claimed and nothing is sent', async () => {
  const { asset, newPayment } = await registeredToken()
  const body = await newPayment()
  await alterFaultyToken(rpcUrl, asset, { fault: 'ClaimsUse' })
  expect(await harness.verify(body)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_transaction_state',
  })
  const { database } = harness.facilitator
  const sent = await harness.sent()
  expect(await harness.settle(body)).toMatchObject({
    success: false,
    errorReason: 'invalid_transaction_state',
  })
  expect(await database.prisma.settlement.count({ where: { asset } })).toBe(0)
  expect(await harness.sent()).toBe(sent)
})

test('a token that accepts a used authorization again is paid once: nothing is sent for a used authorization', async () => {
  const { asset, newPayment, transfers } = await registeredToken()
  await alterFaultyToken(rpcUrl, asset, { fault: 'Replayable' })
  const body = await newPayment()
  const results = await Promise.all(Array.from({ length: 5 }, () => harness.settle(body)))
  expect(results.filter(({ success }) => success)).toHaveLength(1)
  expect(await harness.settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
  expect(await transfers()).toHaveLength(1)

  // Another facilitator has no record of the payment.
  const other = await facilitatorWithClient({ variables: { ADMIN_TOKEN } })
  await alterFaultyToken(rpcUrl, asset, {})
  await other.facilitator.api
    .post('/admin/assets')
    .set({ Authorization: `Bearer ${ADMIN_TOKEN}` })
    .send({ network: 'base-sepolia', asset, symbol: 'FLT', decimals: 6 })
    .expect(200)
  await alterFaultyToken(rpcUrl, asset, { fault: 'Replayable' })
  expect(await other.verify(body)).toMatchObject({
    isValid: false,
    invalidReason: 'invalid_transaction_state',
  })
  await other.settle(body)
  expect(await transfers()).toHaveLength(1)
  expect(await other.sent()).toBe(0)
})

/** Emits `AuthorizationUsed`, and a `Transfer` of one unit less than authorized. */
const push32 = (hex: string) => `7f${hex.slice(2)}`
const [from, to, value, nonce] = ['600435', '602435', '604435', '60a435']
const taking = `${nonce}${from}${push32(id('AuthorizationUsed(address,bytes32)'))}5f5fa36001${value}035f52${to}${from}${push32(id('Transfer(address,address,uint256)'))}60205fa300`
/** Also reports every authorization as used: a call of `authorizationState` has 68 bytes. */
const feeTaking = `0x3660441460${(taking.length / 2 + 7).toString(16)}57${taking}5b60015f5260205ff3`

test('a payment is no success if the token starts to take a fee after we signed', async () => {
  const paused = await withManualMining({ variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
  const payer = await newPayer(paused.rpcUrl)
  const body = await paymentRequest(payer)
  expect(await paused.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
  await paused.until(SENT, 1)
  await callRpc(paused.rpcUrl, 'anvil_setCode', USDC_ADDRESS, feeTaking)
  await paused.mine()
  expect(await transfersFrom(paused.rpcUrl, payer.address)).toMatchObject([{ value: AMOUNT - 1n }])
  await paused.until("settlements WHERE status = 'failed'", 1)
  const [transaction] = await transactionsOf(paused)
  expect(await paused.settle(body)).toMatchObject({
    success: false,
    errorReason: 'transfer_event_mismatch',
    transaction,
  })
})

async function transactionsOf({ pool }: Awaited<ReturnType<typeof withManualMining>>): Promise<string[]> {
  const { rows } = await pool.query<{ hash: string }>('SELECT hash FROM transactions ORDER BY id')
  return rows.map(({ hash }) => hash)
}
