import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import type { PendingPayment } from '../../family'
import { openGaslessWorld, FEE } from '../testing/gasless'
import { draftOf, payloadOf, signTx, type TestWallet } from '../testing/transaction'
import { type CosmosPayment, readPayment } from '../transfer-methods/bank-send/payment'
import { moveCountersigned, prepareCountersigned } from './countersign'
import { signDirect } from './feegrant/grant-transaction'

type World = Awaited<ReturnType<typeof openGaslessWorld>>
let world: World
beforeAll(async () => {
  world = await openGaslessWorld()
})
afterAll(() => world.close())

/** A payment that names the granter as its fee payer. */
async function pay(payer: TestWallet): Promise<CosmosPayment> {
  const { accountNumber, sequence } = (await world.network.rpc.account(payer.address))!
  const fee = {
    amount: [{ denom: 'uatom', amount: `${FEE}` }],
    gas: 200_000n,
    payer: world.granter.address,
    granter: '',
  }
  const mode = SignMode.SIGN_MODE_LEGACY_AMINO_JSON
  const draft = draftOf(payer.address, world.terms.payTo, { accountNumber, sequence, fee, mode })
  return readPayment(payloadOf(payer, draft, signTx(payer, draft)))!
}

async function countersigned(payment: CosmosPayment, nonce: bigint) {
  const batch: [PendingPayment<CosmosPayment>] = [world.pending(payment)]
  const prepared = await prepareCountersigned(world.network, world.signer, batch, { nonce })
  if ('reason' in prepared) throw new Error(prepared.detail)
  return { ...(await signDirect(prepared, world.signer)), cost: prepared.cost }
}

test('is no transaction of its payer, and costs its fee once both have signed', async () => {
  const payment = await pay(await world.newPayer())
  expect([payment.transaction, payment.countersigned]).toEqual([undefined, { fee: FEE }])
  const transaction = await countersigned(payment, await world.nextNonce())
  expect(transaction.cost).toBe(FEE)
  const before = await world.balance(world.granter.address)
  expect(await world.send(transaction)).toMatchObject({ code: 0 })
  expect(before - (await world.balance(world.granter.address))).toBe(FEE)
})

test('moves to a lower sequence, and only one of the two can be mined', async () => {
  const next = await world.nextNonce()
  const payment = await pay(await world.newPayer())
  const first = await countersigned(payment, next + 1n)
  const moved = (await moveCountersigned(world.network, world.signer, first, next))!
  expect(moved.cost).toBe(FEE)
  expect(await world.send(moved)).toMatchObject({ code: 0 })

  expect(await world.nextNonce()).toBe(next + 1n)
  const bytes = new Uint8Array(Buffer.from(first.raw, 'base64'))
  expect(await world.refusal(bytes)).toEqual({ code: 32, codespace: 'sdk' })
})

test('a fee grant does not move, because both could be mined', async () => {
  const grant = await world.signed([await world.pay(await world.newPayer())])
  expect(await moveCountersigned(world.network, world.signer, grant, 0n)).toBeUndefined()
})

test('a transaction whose payer was faster is refused, and takes no fee and no sequence', async () => {
  const payer = await world.newPayer(20_000n)
  const transaction = await countersigned(await pay(payer), await world.nextNonce())
  const own = { amount: [{ denom: 'uatom', amount: `${FEE}` }], gas: 200_000n, payer: '', granter: '' }
  const { transaction: faster } = await world.pay(payer, { fee: own })
  await world.send(faster)

  const before = [await world.balance(world.granter.address), await world.nextNonce()]
  const bytes = new Uint8Array(Buffer.from(transaction.raw, 'base64'))
  expect(await world.refusal(bytes)).toEqual({ code: 32, codespace: 'sdk' })
  expect([await world.balance(world.granter.address), await world.nextNonce()]).toEqual(before)
})
