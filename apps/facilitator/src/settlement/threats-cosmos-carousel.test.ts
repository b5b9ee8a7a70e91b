import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import {
  COSMOS_AMOUNT,
  newCosmosWallet,
  signSend,
  type CosmosRequest,
  type CosmosWallet,
} from '../testing/cosmos'
import { newClient } from '../testing/facilitator'
import { onGaslessChain } from '../testing/gasless'

afterAll(closeAll)

/** The unit is uatom. Payers that settled nothing before have a twentieth: five payments, of some 7,500 each. */
const LIMIT = 800_000n
const BUDGET = LIMIT / 20n
const ROUNDS = 10
const GRANT_SENT = "transactions WHERE status = 'signed' AND is_fee_grant AND accepted_at IS NOT NULL"

const variables = { SETTLE_TIMEOUT_SECONDS: '20' }
type Ground = Awaited<ReturnType<typeof onGaslessChain>>

const settleAs = async ({ facilitator }: Ground, body: CosmosRequest, client: Ground['client']) =>
  (await facilitator.api.post('/api/v1/settle').set(client).send(body).expect(200)).body as SettleResult

/** Pays, waits for the grant, and moves the money with it to the payer's next wallet before the payment is sent. */
async function outrun(on: Ground, payer: CosmosWallet, next: CosmosWallet): Promise<SettleResult> {
  const body = await on.gasless(payer)
  const faster = await signSend(on.rpcUrl, payer, next.address, { granter: on.granter.address })
  await on.stop()
  const answer = on.settle(body)
  const granted = on.until(GRANT_SENT, 1).then(
    () => true,
    () => false,
  )
  if (await Promise.race([granted, answer.then(() => false)]))
    await on.beforeAnyOf(payer, async () => {
      await on.mine()
      await on.broadcast(faster)
      await on.mine()
    })
  const result = await answer
  await on.chain.setPace('at-once')
  return result
}

test('payers that outrun their payments from wallet to wallet cost a small part of the daily limit, and switch nothing off for others', async () => {
  const on = await onGaslessChain({ maxFeesPerDay: LIMIT, variables })
  const regular = await on.newPayer(2n * COSMOS_AMOUNT)
  expect(await on.settle(await on.gasless(regular))).toMatchObject({ success: true })

  const before = await on.balance(on.granter.address)
  const results: SettleResult[] = []
  let payer = await on.newPayer()
  for (let round = 0; round < ROUNDS; round++) {
    const next = await newCosmosWallet(on.rpcUrl)
    results.push(await outrun(on, payer, next))
    if ((await on.balance(payer.address)) === 0n) payer = next
  }
  const loss = before - (await on.balance(on.granter.address))
  expect(results.map(({ errorReason }) => errorReason)).toEqual([
    ...Array.from({ length: 5 }, () => 'invalid_transaction_state'),
    ...Array.from({ length: 5 }, () => 'fee_allowance_exceeded'),
  ])
  expect(loss).toBeGreaterThan(0n)
  expect(loss).toBeLessThanOrEqual(BUDGET)

  const stranger = await on.gasless(await on.newPayer())
  expect(await on.settle(stranger)).toMatchObject({ errorReason: 'fee_allowance_exceeded', transaction: '' })
  expect(await on.settle(await on.gasless(regular))).toMatchObject({ success: true })
  expect(await settleAs(on, stranger, await newClient(on.facilitator.api))).toMatchObject({ success: true })
  const itself = await on.gasless(await on.newPayer(3n * COSMOS_AMOUNT), { granter: undefined })
  expect(await on.settle(itself)).toMatchObject({ success: true })
})
