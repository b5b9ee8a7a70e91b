import { closeAll } from '@tollgate/testing'
import { AuthInfo, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { callRpc } from '../testing/chain'
import {
  COSMOS_AMOUNT,
  COSMOS_FEE,
  newCosmosWallet,
  signSend,
  type CosmosChanges,
  type CosmosRequest,
  type CosmosWallet,
} from '../testing/cosmos'
import { onGaslessChain } from '../testing/gasless'

afterAll(closeAll)

type Ground = Awaited<ReturnType<typeof onGaslessChain>>

const PATIENT = { variables: { SETTLE_TIMEOUT_SECONDS: '20' } }
const SENT = "transactions WHERE status = 'signed' AND accepted_at IS NOT NULL"

const newAminoPayer = ({ rpcUrl }: Ground, amount = COSMOS_AMOUNT) => newCosmosWallet(rpcUrl, amount, 'amino')

/** A payment that names our signer as its fee payer. */
async function countersigned(
  on: Ground,
  payer: CosmosWallet,
  { fee, ...changes }: CosmosChanges = {},
): Promise<CosmosRequest> {
  const timeoutHeight = (await on.height()) + 30n
  const named = { payer: on.granter.address, ...fee }
  return on.gasless(payer, { granter: undefined, timeoutHeight, ...changes, fee: named })
}

describe('a payment whose fee we pay by our signature', () => {
  test('settles in one transaction without a grant, and costs its fee', async () => {
    const on = await onGaslessChain()
    const payer = await newAminoPayer(on)
    const body = await countersigned(on, payer)
    const before = await on.balance(on.granter.address)
    expect(await on.verify(body)).toMatchObject({ isValid: true, payer: payer.address })
    const settled = await on.settle(body)
    expect(settled).toMatchObject({ success: true, payer: payer.address })
    expect(await on.balance(body.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    expect(before - (await on.balance(on.granter.address))).toBe(COSMOS_FEE)
    const { rows } = await on.pool.query(
      'SELECT t.hash, t.nonce, t.fee, s.fee AS charged FROM transactions t JOIN settlements s ON s.transaction_id = t.id',
    )
    expect(rows).toEqual([
      { hash: settled.transaction, nonce: 0n, fee: `${COSMOS_FEE}`, charged: `${COSMOS_FEE}` },
    ])
    expect(await on.settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect(await on.grants()).toBe(1)
  })

  test('settles beside others, each once, under consecutive sequences', async () => {
    const on = await onGaslessChain(PATIENT)
    const bodies = await Promise.all(
      Array.from({ length: 8 }, async (_, n) =>
        n % 2 === 0 ? countersigned(on, await newAminoPayer(on)) : on.gasless(await on.newPayer()),
      ),
    )
    const results = await Promise.all(bodies.map((body) => on.settle(body)))
    expect(results.filter(({ success }) => success)).toHaveLength(8)
    for (const { paymentRequirements } of bodies)
      expect(await on.balance(paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    const { rows } = await on.pool.query<{ nonce: bigint }>(
      "SELECT nonce FROM transactions WHERE nonce IS NOT NULL AND status <> 'superseded' ORDER BY nonce",
    )
    expect(rows.map(({ nonce }) => nonce)).toEqual(rows.map((_, n) => BigInt(n)))
    expect(await on.grants()).toBe(rows.length)
  })
})

describe('payers that outrun such payments', () => {
  test('cost us nothing, from wallet to wallet, and lose the payment', async () => {
    const on = await onGaslessChain(PATIENT)
    const before = await on.balance(on.granter.address)
    let payer = await newAminoPayer(on, COSMOS_AMOUNT + COSMOS_FEE)
    for (let round = 0; round < 2; round++) {
      const next = await newAminoPayer(on, COSMOS_FEE)
      const faster = await signSend(on.rpcUrl, payer, next.address)
      const body = await countersigned(on, payer)
      await on.stop()
      const answer = on.settle(body)
      await on.until(SENT, 1)
      await callRpc(on.rpcUrl, 'dev_dropPending')
      await on.broadcast(faster)
      await on.mine()
      expect(await answer).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
      await on.chain.setPace('at-once')
      payer = next
    }
    expect(await on.balance(on.granter.address)).toBe(before)
    expect(await on.settle(await countersigned(on, await newAminoPayer(on)))).toMatchObject({ success: true })
    expect(await on.count('fee_allocations WHERE fee > 0')).toBe(1)
  })

  test('do not stop the payments behind theirs, which take the sequence that stays unused', async () => {
    const on = await onGaslessChain(PATIENT)
    const payer = await newAminoPayer(on, COSMOS_AMOUNT + COSMOS_FEE)
    const honest = await Promise.all(
      Array.from({ length: 3 }, async () => countersigned(on, await newAminoPayer(on))),
    )
    const faster = await signSend(on.rpcUrl, payer, on.granter.address)
    const body = await countersigned(on, payer)
    await on.stop()
    const answer = on.settle(body)
    await on.until(SENT, 1)
    const answers = honest.map((one) => on.settle(one))
    await on.until(SENT, 4)
    await callRpc(on.rpcUrl, 'dev_dropPending')
    await on.broadcast(faster)
    await on.chain.setPace('at-once')
    await on.mine()
    expect(await answer).toMatchObject({ success: false, errorReason: 'invalid_transaction_state' })
    for (const [index, one] of honest.entries()) {
      expect((await answers[index]) ?? {}).toMatchObject({ success: true })
      expect(await on.balance(one.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
    }
    expect(await on.grants()).toBe(3)
    const { rows } = await on.pool.query(
      "SELECT nonce FROM transactions WHERE status <> 'superseded' ORDER BY nonce",
    )
    expect(rows).toEqual([{ nonce: 0n }, { nonce: 1n }, { nonce: 2n }])
  })
})

test('that timed out is followed by another of the same sequence, which settles once', async () => {
  const on = await onGaslessChain(PATIENT)
  const payer = await newAminoPayer(on, 3n * COSMOS_AMOUNT)
  const late = await countersigned(on, payer, { timeoutHeight: (await on.height()) + 20n })
  await on.stop()
  const answer = on.settle(late)
  await on.until(SENT, 1)
  await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '1uatom')
  await callRpc(on.rpcUrl, 'dev_dropPending')
  await callRpc(on.rpcUrl, 'dev_mine', '21')
  expect(await answer).toMatchObject({ success: false, errorReason: 'payment_expired' })

  await callRpc(on.rpcUrl, 'dev_setMinimumGasPrice', '0.025uatom')
  await on.chain.setPace('at-once')
  const again = await countersigned(on, payer)
  expect(await on.settle(again)).toMatchObject({ success: true, payer: payer.address })
  expect(await on.balance(again.paymentRequirements.payTo)).toBe(COSMOS_AMOUNT)
  expect(await on.balance(late.paymentRequirements.payTo)).toBe(0n)
  expect([await on.grants(), await on.sequenceOf(payer)]).toEqual([1, 1])
})

test('is refused, and signed by us in no way, if it is not exactly what we pay for', async () => {
  const on = await onGaslessChain()
  const payer = await newAminoPayer(on)
  const other = await newCosmosWallet(on.rpcUrl, 1_000_000n)
  const dear = { amount: [{ denom: 'uatom', amount: '10001' }] }
  const bodies = [
    await countersigned(on, await on.newPayer()),
    await countersigned(on, payer, { fee: { payer: other.address } }),
    await countersigned(on, payer, { fee: { granter: on.granter.address } }),
    await countersigned(on, payer, { fee: dear }),
    await countersigned(on, payer, { fee: { amount: [] } }),
    await countersigned(on, payer, { timeoutHeight: 0n }),
    await countersigned(on, payer, { timeoutHeight: (await on.height()) + 60n }),
    await countersigned(on, payer, { sequence: 5 }),
  ]
  for (const body of bodies) {
    const verified = await on.verify(body)
    expect(verified).toMatchObject({ isValid: false })
    expect(await on.settle(body)).toMatchObject({ success: false, errorReason: verified.invalidReason })
  }
  expect([await on.grants(), await on.count('transactions')]).toEqual([0, 0])
})

test('cannot be used by others: what we sign holds exactly the bytes that the payer signed', async () => {
  const on = await onGaslessChain()
  const body = await countersigned(on, await newAminoPayer(on))
  const { success, transaction } = await on.settle(body)
  expect(success).toBe(true)
  const { rows } = await on.pool.query<{ raw: string }>('SELECT raw FROM transactions WHERE hash = $1', [
    transaction,
  ])
  const sent = TxRaw.decode(Buffer.from(rows[0]!.raw, 'base64'))
  const signed = TxRaw.decode(Buffer.from(body.paymentPayload.payload.payment.txBase64, 'base64'))
  expect([sent.bodyBytes, sent.signatures[0]]).toEqual([signed.bodyBytes, signed.signatures[0]])
  const [of, from] = [AuthInfo.decode(sent.authInfoBytes), AuthInfo.decode(signed.authInfoBytes)]
  expect([of.fee, of.signerInfos[0]]).toEqual([from.fee, from.signerInfos[0]])
  expect(of.signerInfos).toHaveLength(2)
})
