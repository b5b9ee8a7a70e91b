import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, assign, newAccount } from '../testing/accounts'
import { callRpc, newPayer, transactionCount, transfersFrom } from '../testing/chain'
import { type TestFacilitator } from '../testing/facilitator'
import { faulty } from '../testing/faulty'
import { onGaslessChain } from '../testing/gasless'
import { withManualMining } from '../testing/manual-mining'
import { byBankSend } from '../testing/made-payment'
import { inSeconds, paymentRequest } from '../testing/payment'
import { outbid } from '../testing/third-party'
import { type SettleResult } from '@tollgate/protocol'

afterAll(closeAll)

const variables = { ADMIN_TOKEN }

/** A shop that has reserved the recipient. */
async function shopAt(on: TestFacilitator, payTo: string, network?: string) {
  const account = await newAccount(on.api)
  await assign(on, account, payTo, network).expect(200)
  const key = await account.newKey()
  return async (body: object) =>
    (await on.api.post('/api/v1/settle').set(key).send(body).expect(200)).body as SettleResult
}

async function arrivedPayment(options: Parameters<typeof withManualMining>[0] = {}) {
  const paused = await withManualMining({ ...options, variables: { ...variables, ...options.variables } })
  const { rpcUrl, facilitator, mine } = paused
  const payer = await newPayer(rpcUrl)
  await mine()
  const body = await paymentRequest(payer, { authorization: { validBefore: inSeconds(600) } })
  const settle = await shopAt(facilitator, body.paymentRequirements.payTo)
  const theirs = await outbid(rpcUrl, body)
  await mine()
  return { ...paused, payer, body, settle, theirs }
}

describe('a payment that had arrived, whose transaction a reorg drops after its success,', () => {
  test.concurrent('is settled by us if it is not sent again, and pays once', async () => {
    const { rpcUrl, payer, body, settle, theirs, mineUntil, until } = await arrivedPayment()
    expect(await settle(body)).toMatchObject({ success: true, transaction: theirs, arrived: true })
    await callRpc(rpcUrl, 'anvil_reorg', 1, [])
    await until("settlements WHERE status <> 'settled'", 1)
    await mineUntil("settlements WHERE status = 'settled' AND arrived", 1)
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
    expect(await settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
  })

  test.concurrent('counts once if another transaction makes it again', async () => {
    const { rpcUrl, signer, payer, body, settle, mine, until, theirs } = await arrivedPayment()
    expect(await settle(body)).toMatchObject({ success: true, transaction: theirs })
    await callRpc(rpcUrl, 'anvil_reorg', 1, [])
    const again = await outbid(rpcUrl, body)
    await mine()
    expect(again).not.toBe(theirs)
    await until(
      `settlements WHERE status = 'settled' AND transaction_hash IN ('${again}', '${theirs}') AND arrived`,
      1,
    )
    expect(await transactionCount(rpcUrl, signer.address)).toBe(0)
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
    expect(await settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
  })
})

test.concurrent('a payment that has arrived is not sent again by a settler whose node lacks it', async () => {
  let isBehind = true
  const families = faulty((chain) => ({
    payments: {
      // Only the settler says what is reserved.
      verify: (request) =>
        isBehind && request.reserved !== undefined
          ? Promise.resolve(undefined)
          : chain.payments.verify(request),
    },
  }))
  const paused = await arrivedPayment({ families, variables: { SETTLE_TIMEOUT_SECONDS: '1' } })
  const { rpcUrl, signer, body, settle, theirs, until } = paused
  expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending', transaction: theirs })
  await until("settlements WHERE last_error LIKE '%was made by block%'", 1)
  isBehind = false
  await until("settlements WHERE status = 'settled'", 1)
  expect(await settle(body)).toMatchObject({ success: true, transaction: theirs, arrived: true })
  expect(await transactionCount(rpcUrl, signer.address)).toBe(0)
})

test.concurrent('a payment without its confirmations is pending, with its transaction, until it has them', async () => {
  const on = await onGaslessChain({
    variables: { ...variables, SETTLE_TIMEOUT_SECONDS: '1' },
    network: () => Promise.resolve({ confirmations: 3 }),
  })
  const payment = await byBankSend(on.rpcUrl)
  const settle = await shopAt(on.facilitator, payment.payTo, payment.network)
  const hash = await payment.make()
  await on.stop()
  expect(await settle(payment.body)).toMatchObject({
    success: false,
    errorReason: 'settlement_pending',
    transaction: hash,
  })
  for (let block = 0; block < 3; block++) await on.mine()
  let result = await settle(payment.body)
  while (result.errorReason === 'settlement_pending') result = await settle(payment.body)
  expect(result).toMatchObject({ success: true, transaction: hash, arrived: true })
})
