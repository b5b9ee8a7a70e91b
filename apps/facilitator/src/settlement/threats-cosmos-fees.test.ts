import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { MsgGrantAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/tx'
import { SimulateResponse } from 'cosmjs-types/cosmos/tx/v1beta1/service'
import { callRpc } from '../testing/chain'
import {
  COSMOS_AMOUNT,
  cosmosRequestOf,
  newCosmosWallet,
  signSend,
  type CosmosWallet,
} from '../testing/cosmos'
import { startOddNode } from '../testing/failing-node'
import { onGaslessChain } from '../testing/gasless'
import { refusalOf, startUnindexedNode } from '../testing/unindexed-node'

afterAll(closeAll)

type Ground = Awaited<ReturnType<typeof onGaslessChain>>

const IMPATIENT = { variables: { SETTLE_TIMEOUT_SECONDS: '1' } }
const PATIENT = { variables: { SETTLE_TIMEOUT_SECONDS: '30' } }
const GRANT_SENT = "transactions WHERE status = 'signed' AND is_fee_grant AND accepted_at IS NOT NULL"
const PAYMENT_SENT = "transactions WHERE status = 'signed' AND nonce IS NULL AND accepted_at IS NOT NULL"

/** From then on no facilitator runs, and no node has what it sent. */
async function halt({ facilitator, rpcUrl }: Ground) {
  await facilitator.close()
  await callRpc(rpcUrl, 'dev_dropPending')
}

const sendOf = (fromAddress: string, toAddress: string, denom: string) => ({
  typeUrl: '/cosmos.bank.v1beta1.MsgSend',
  value: { fromAddress, toAddress, amount: [{ denom, amount: `${COSMOS_AMOUNT}` }] },
})

/** A gasless payment of `denom` to a recipient of its own. */
async function paymentOf({ rpcUrl, granter }: Ground, payer: CosmosWallet, denom: string) {
  const { address: payTo } = await newCosmosWallet(rpcUrl)
  const messages = [sendOf(payer.address, payTo, denom)]
  const tx = await signSend(rpcUrl, payer, payTo, { granter: granter.address, messages })
  const body = cosmosRequestOf(payer, tx, { payTo, amount: COSMOS_AMOUNT }, { asset: denom })
  body.paymentPayload.payload.payment.denom = denom
  return body
}

const successes = (results: readonly SettleResult[]) => results.filter(({ success }) => success)

describe('an allowance', () => {
  test.concurrent('that is gone while its payment waits is signed again, and the payment is settled by one transfer', async () => {
    const on = await onGaslessChain(IMPATIENT)
    const { gasless, settle, until, mine, grants, balance, chain } = on
    const payer = await on.newPayer()
    const body = await gasless(payer)
    await on.stop()
    expect(await settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    await until(GRANT_SENT, 1)
    await mine()
    await until(PAYMENT_SENT, 1)
    await halt(on)
    await on.revoke(payer)
    expect(await grants()).toBe(2)

    const next = await on.replica()
    await next.database.pool.query("UPDATE transactions SET signed_at = signed_at - INTERVAL '2 minutes'")
    await chain.setPace('at-once')
    expect(await on.settleAtLast(body, next)).toMatchObject({ success: true, payer: payer.address })
    expect([await balance(body.paymentRequirements.payTo), await grants()]).toEqual([COSMOS_AMOUNT, 3])
  })

  test.concurrent('that goes again and again is not counted as a failed attempt of the payment that it finally serves', async () => {
    const on = await onGaslessChain(IMPATIENT)
    const payer = await on.newPayer()
    const body = await on.gasless(payer)
    await on.stop()
    expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    for (let time = 0; time < 2; time++) {
      await on.until(GRANT_SENT, 1)
      await on.mine()
      await on.until(PAYMENT_SENT, 1)
      await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '1uatom')
      await callRpc(on.rpcUrl, 'dev_dropPending')
      await on.revoke(payer, '200000')
      await on.pool.query("UPDATE transactions SET signed_at = signed_at - INTERVAL '2 minutes'")
      await on.until('transactions WHERE is_fee_grant', time + 2)
      await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.025uatom')
    }
    await on.chain.setPace('at-once')
    expect(await on.settleAtLast(body)).toMatchObject({ success: true, payer: payer.address })
    expect([await on.balance(body.paymentRequirements.payTo), await on.grants()]).toEqual([COSMOS_AMOUNT, 5])
  })

  test.concurrent('that a node behind the same URL lacks for a moment costs no second one', async () => {
    let offers = 0
    const lacksIt = () => offers > 0 && offers < 4
    const isOfGrant = (tx: Buffer) => tx.includes(MsgGrantAllowance.typeUrl)
    const answer = (response: object) =>
      Promise.resolve({ result: { response: { height: '0', ...response } } })
    const simulated = SimulateResponse.fromPartial({ gasInfo: { gasUsed: 75_000n } })
    const value = Buffer.from(SimulateResponse.encode(simulated).finish()).toString('base64')
    const on = await onGaslessChain({
      ...IMPATIENT,
      network: async (rpcUrl) => ({
        rpcUrls: [
          await startOddNode(rpcUrl, {
            abci_query({ path = '', data = '' }, told) {
              if (lacksIt() && path.endsWith('Query/Allowance'))
                return answer({ code: 6, codespace: 'sdk', log: 'fee-grant not found' })
              if (lacksIt() && path.endsWith('Service/Simulate') && isOfGrant(Buffer.from(data, 'hex')))
                return answer({ code: 0, value })
              return told()
            },
            broadcast_tx_sync(params, told) {
              if (isOfGrant(Buffer.from(params.tx ?? '', 'base64'))) return told()
              offers++
              return lacksIt() ? Promise.resolve(refusalOf(params, 38, 'fee-grant not found')) : told()
            },
          }),
        ],
      }),
    })
    const payer = await on.newPayer()
    const body = await on.gasless(payer)
    expect(await on.settleAtLast(body)).toMatchObject({ success: true, payer: payer.address })
    expect(offers).toBeGreaterThanOrEqual(4)
    expect([await on.balance(body.paymentRequirements.payTo), await on.grants()]).toEqual([COSMOS_AMOUNT, 1])
  })

  test.concurrent('is granted once to a payer of two assets, while it waits for its block', async () => {
    const payer: { wallet?: CosmosWallet } = {}
    const assets = ['uatom', 'uone'].map((asset) => ({ asset, symbol: asset.toUpperCase(), decimals: 6 }))
    const on = await onGaslessChain({
      ...PATIENT,
      async network(rpcUrl) {
        payer.wallet = await newCosmosWallet(rpcUrl, COSMOS_AMOUNT)
        await fundCosmosWallet(rpcUrl, payer.wallet.address, `${COSMOS_AMOUNT}uone`)
        return { assets }
      },
    })
    const wallet = payer.wallet!
    const first = await on.gasless(wallet)
    const second = await paymentOf(on, wallet, 'uone')
    await on.stop()
    const answers = [on.settle(first)]
    await on.until(GRANT_SENT, 1)
    answers.push(on.settle(second))
    await on.until('settlements WHERE last_error IS NOT NULL', 1)
    expect(await on.count('transactions')).toBe(1)
    await on.chain.setPace('at-once')
    expect(successes(await Promise.all(answers))).toHaveLength(1)
    expect(await on.grants()).toBe(1)
  })

  test.concurrent('that the chain has and the node does not find is not granted again, and its payment is settled', async () => {
    const node: { found?: Awaited<ReturnType<typeof startUnindexedNode>> } = {}
    const on = await onGaslessChain({
      ...PATIENT,
      async network(rpcUrl) {
        node.found = await startUnindexedNode(rpcUrl, ['tx'])
        return { rpcUrls: [node.found.url] }
      },
    })
    const payer = await on.newPayer()
    const body = await on.gasless(payer)
    await on.stop()
    const answer = on.settle(body)
    await on.until(GRANT_SENT, 1)
    node.found!.forget()
    await on.mine()
    await node.found!.untilRefused(2)
    expect(await on.count("transactions WHERE status = 'superseded'")).toBe(0)
    node.found!.recall()
    await on.chain.setPace('at-once')
    expect(await answer).toMatchObject({ success: true, payer: payer.address })
    expect([await on.balance(body.paymentRequirements.payTo), await on.grants()]).toEqual([COSMOS_AMOUNT, 1])
  })
})

test.concurrent('grants that no node accepts delay no payer with its own fee, and what waits for them says why', async () => {
  const on = await onGaslessChain(IMPATIENT)
  const answers: Promise<SettleResult>[] = []
  await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.1uatom')
  for (let grants = 1; grants <= 16; grants++) {
    answers.push(on.settle(await on.gasless(await on.newPayer())))
    await on.until('transactions', grants)
  }
  const late = await on.gasless(await on.newPayer())
  answers.push(on.settle(late))
  await on.until("settlements WHERE last_error = 'waits for transactions of ours that are not mined'", 1)
  for (const { errorReason } of await Promise.all(answers)) expect(errorReason).toBe('settlement_pending')

  const payer = await on.newPayer(4n * COSMOS_AMOUNT)
  const fee = { amount: [{ denom: 'uatom', amount: '20000' }], gas: '200000' }
  const own = await on.gasless(payer, { granter: undefined, fee })
  expect(await on.settleAtLast(own)).toMatchObject({ success: true, payer: payer.address })
  expect([await on.grants(), await on.count('transactions WHERE is_fee_grant')]).toEqual([0, 16])

  await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.025uatom')
  expect(await on.settleAtLast(late)).toMatchObject({ success: true })
})

describe('the daily fee limit', () => {
  test.concurrent('lets through as many of those that wait together as it has room for', async () => {
    const dailyLimit = 60_000n
    const on = await onGaslessChain({ maxFeesPerDay: dailyLimit, ...PATIENT })
    const payers = await Promise.all(Array.from({ length: 20 }, () => on.newPayer()))
    const bodies = await Promise.all(payers.map((payer) => on.gasless(payer)))
    const before = await on.balance(on.granter.address)
    const answers: Promise<SettleResult>[] = []
    await on.beforeAnyFee(async () => {
      answers.push(...bodies.map((body) => on.settle(body)))
      await on.until('settlements', 20)
    })
    const paid = successes(await Promise.all(answers)).length
    expect(paid).toBeGreaterThan(5)
    expect(before - (await on.balance(on.granter.address))).toBeLessThanOrEqual(dailyLimit)
  })

  test.concurrent('counts a grant that was lost', async () => {
    const on = await onGaslessChain({ maxFeesPerDay: 14_000n, ...IMPATIENT })
    const body = await on.gasless(await on.newPayer())
    await on.stop()
    expect(await on.settle(body)).toMatchObject({ errorReason: 'settlement_pending' })
    await on.until(GRANT_SENT, 1)
    await halt(on)
    await on.sendByHand([sendOf(on.granter.address, on.granter.address, 'uatom')])

    const next = await on.replica()
    await on.chain.setPace('at-once')
    expect(await on.settleAtLast(body, next)).toMatchObject({
      success: false,
      errorReason: 'unexpected_settle_error',
    })
    const { rows } = await next.database.pool.query('SELECT status FROM transactions')
    expect(rows).toEqual([{ status: 'superseded' }])
    expect(await on.grants()).toBe(1)
  })
})
