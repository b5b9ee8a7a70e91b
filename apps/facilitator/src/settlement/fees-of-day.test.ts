import { closeAll } from '@tollgate/testing'
import { setTimeout as delay } from 'node:timers/promises'
import { callRpc, newPayer, ownChain, transfersFrom } from '../testing/chain'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { forward, startNode } from '../testing/failing-node'
import { onGaslessChain } from '../testing/gasless'
import { withManualMining } from '../testing/manual-mining'
import { paymentRequest } from '../testing/payment'
import { withTwoSigners } from '../testing/two-signers'

// Three run at once, each with a chain and facilitators of its own.
jest.setTimeout(180_000)

afterAll(closeAll)

/** In wei: enough for one settlement on a development chain, and too little for two. */
const DAILY_LIMIT = 5n * 10n ** 14n
const IMPATIENT = { variables: { SETTLE_TIMEOUT_SECONDS: '1' } }
/** A busy machine answers late, and no node of these tests is silent. */
const SLOW_NODE = { rpcTimeoutMs: 30_000 }
const HELD_BACK = "settlements WHERE last_error LIKE 'it is not mined, and higher fees would not help%'"

test.concurrent('a payment beyond the daily fee limit is refused, and nothing is sent', async () => {
  const paused = await withManualMining({ ...SLOW_NODE, maxFeesPerDay: 1n })
  const payer = await newPayer(paused.rpcUrl)
  const body = await paymentRequest(payer)

  expect(await paused.settle(body)).toMatchObject({
    success: false,
    errorReason: 'unexpected_settle_error',
    transaction: '',
  })
  expect(await paused.count('transactions')).toBe(0)
  await paused.log.line('daily fee limit reached')
})

test.concurrent('a network without fees settles under a daily fee limit', async () => {
  const { rpcUrl } = await ownChain()
  const node = await startNode((messages) =>
    messages.map((message) =>
      message.method === 'eth_maxPriorityFeePerGas'
        ? { jsonrpc: '2.0', id: message.id, result: '0x0' }
        : forward(rpcUrl, message),
    ),
  )
  const payer = await newPayer(rpcUrl)
  await callRpc(rpcUrl, 'anvil_setNextBlockBaseFeePerGas', '0x0')
  await callRpc(rpcUrl, 'evm_mine')
  const { settle, pool } = await facilitatorWithClient({
    rpcUrl: node,
    chainUrl: rpcUrl,
    ...SLOW_NODE,
    maxFeesPerDay: DAILY_LIMIT,
  })
  expect(await settle(await paymentRequest(payer))).toMatchObject({ success: true })
  const { rows } = await pool.query('SELECT max_fee AS cost FROM transactions')
  expect(rows).toEqual([{ cost: '0' }])
})

test.concurrent('two concurrent signers stay within the daily fee limit together', async () => {
  const { rpcUrl, pool, hasSigned, settle } = await withTwoSigners({
    ...SLOW_NODE,
    maxFeesPerDay: DAILY_LIMIT,
    // For the refusal of the second on a busy machine; the first is not mined.
    variables: { SETTLE_TIMEOUT_SECONDS: '60' },
  })
  const newPayment = async (maxTimeoutSeconds: number) =>
    paymentRequest(await newPayer(rpcUrl), { requirements: { maxTimeoutSeconds } })
  // Made before the first is signed: that waits a while for the second, and no longer.
  const bodies = [await newPayment(10), await newPayment(60)] as const
  const first = settle(bodies[0])
  while (!hasSigned()) await delay(10)
  const results = await Promise.all([first, settle(bodies[1])])

  expect(results.map(({ errorReason }) => errorReason)).toEqual([
    'settlement_pending',
    'unexpected_settle_error',
  ])
  const { rows } = await pool.query<{ cost: string }>('SELECT max_fee AS cost FROM transactions')
  expect(rows).toHaveLength(1)
  const cost = BigInt(rows[0]!.cost)
  expect([cost <= DAILY_LIMIT, 2n * cost > DAILY_LIMIT]).toEqual([true, true])
})

describe('a replacement with higher fees, of a pending settlement or grant,', () => {
  const feeOf = (amount: string, gas: string) => ({ fee: { amount: [{ denom: 'uatom', amount }], gas } })

  /** A grant that no node takes for what it offers, and a facilitator that would offer so much more. */
  async function withGasPrice(gasPrice: bigint, maxFeesPerDay: bigint) {
    const on = await onGaslessChain({
      ...IMPATIENT,
      ...SLOW_NODE,
      maxFeesPerDay,
      network: () => Promise.resolve(SLOW_NODE),
    })
    await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.5uatom')
    const body = await on.gasless(await on.newPayer(), feeOf('10000', '200000'))
    expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    await on.until('transactions', 1)
    await on.facilitator.close()
    const next = await on.replica({ gasPrice })
    await next.database.pool.query("UPDATE transactions SET signed_at = signed_at - INTERVAL '10 seconds'")
    return { on, next, body }
  }

  test.concurrent('is not signed beyond the daily fee limit: a grant waits until its gas price suffices', async () => {
    const dailyLimit = 20_000n
    const { on, next, body } = await withGasPrice(5n * 10n ** 17n, dailyLimit)
    const before = await on.balance(on.granter.address)
    await on.until(HELD_BACK, 1, next)
    await on.until('transaction_versions', 1, next)
    await next.close()

    const last = await on.replica()
    await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.025uatom')
    expect(await on.settleAtLast(body, last)).toMatchObject({ success: true })
    expect(before - (await on.balance(on.granter.address))).toBeLessThanOrEqual(dailyLimit)
  })

  test.concurrent('counts with its maximum cost, in place of the transaction that it replaces', async () => {
    // The grant may cost 12,394 with what it allows, and 17,182 once dearer; the one after it 14,682.
    const { on, next } = await withGasPrice(75n * 10n ** 15n, 28_500n)
    await on.until('transaction_versions', 2, next)
    const after = await on.gasless(await on.newPayer(), feeOf('7500', '100000'))
    expect(await on.settleAtLast(after, next)).toMatchObject({ errorReason: 'unexpected_settle_error' })
    await on.until('transactions', 1, next)
  })

  test.concurrent('is not signed beyond the daily fee limit: a settlement waits until the base fee falls', async () => {
    const on = await withManualMining({ ...IMPATIENT, ...SLOW_NODE, maxFeesPerDay: DAILY_LIMIT })
    const baseFee = (gwei: bigint) =>
      callRpc(on.rpcUrl, 'anvil_setNextBlockBaseFeePerGas', `0x${(gwei * 10n ** 9n).toString(16)}`)
    const payer = await newPayer(on.rpcUrl)
    expect(await on.settle(await paymentRequest(payer))).toMatchObject({
      errorReason: 'settlement_pending',
    })
    await on.onTheirWay(1)
    await baseFee(50n)
    await on.mine()
    await on.pool.query("UPDATE transactions SET signed_at = signed_at - INTERVAL '10 seconds'")
    await on.until(HELD_BACK, 1)
    expect(await on.count('transaction_versions')).toBe(1)

    await baseFee(1n)
    await callRpc(on.rpcUrl, 'evm_setIntervalMining', 1)
    await on.until("settlements WHERE status = 'settled'", 1)
    const { rows } = await on.pool.query<{ fee: string }>('SELECT fee FROM transactions')
    expect(BigInt(rows[0]!.fee)).toBeLessThanOrEqual(DAILY_LIMIT)
    expect(await transfersFrom(on.rpcUrl, payer.address)).toHaveLength(1)
  })
})
