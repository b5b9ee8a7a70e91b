import { randomBytes } from 'node:crypto'
import { makeSignDoc as makeAminoSignDoc, Secp256k1Wallet } from '@cosmjs/amino'
import { DirectSecp256k1Wallet, makeSignDoc } from '@cosmjs/proto-signing'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { type Terms } from '../../../family'
import { encodeDraft, signTx, type TestWallet, walletOf } from '../../testing/transaction'
import {
  amino,
  coin,
  feeOf,
  openVerifying,
  stating,
  underOsmo,
  type Verifying,
} from '../../testing/verifying'

let world: Verifying['world']
let payer: TestWallet
let refusal: Verifying['refusal']
let gasless: Verifying['gasless']
let inBlocks: Verifying['inBlocks']
let connect: Verifying['connect']
let close: Verifying['close']
beforeAll(async () => {
  ;({ world, payer, refusal, gasless, inBlocks, connect, close } = await openVerifying())
})
afterAll(() => close())

describe('verify takes a payment', () => {
  test('as a wallet of CosmJS signs it in SIGN_MODE_DIRECT', async () => {
    const wallet = await DirectSecp256k1Wallet.fromKey(payer.privateKey)
    const draft = await world.draft(payer)
    const { bodyBytes, authInfoBytes } = encodeDraft(payer, draft)
    const signDoc = makeSignDoc(bodyBytes, authInfoBytes, draft.chainId, draft.accountNumber)
    const { signature } = await wallet.signDirect(payer.address, signDoc)
    const signatures = [Buffer.from(signature.signature, 'base64')]
    const signed = () => TxRaw.encode({ bodyBytes, authInfoBytes, signatures }).finish()
    expect(await refusal({}, { signed })).toBeUndefined()
  })

  test('as a wallet of CosmJS signs it in SIGN_MODE_LEGACY_AMINO_JSON', async () => {
    const wallet = await Secp256k1Wallet.fromKey(payer.privateKey)
    const draft = await world.draft(payer, { mode: amino, memo: 'one & two' })
    const message = {
      type: 'cosmos-sdk/MsgSend',
      value: { from_address: draft.from, to_address: draft.to, amount: [...draft.coins] },
    }
    const fee = { amount: draft.fee.amount, gas: `${draft.fee.gas}` }
    const { chainId, memo, accountNumber, sequence } = draft
    const signDoc = makeAminoSignDoc([message], fee, chainId, memo, accountNumber, `${sequence}`)
    const { signature } = await wallet.signAmino(payer.address, signDoc)
    const signatures = [Buffer.from(signature.signature, 'base64')]
    const signed = () => TxRaw.encode({ ...encodeDraft(payer, draft), signatures }).finish()
    expect(await refusal({}, { signed })).toBeUndefined()
  })

  test('signed by a key of the Ethereum kind', async () => {
    const by = walletOf(randomBytes(32), 'ethsecp256k1')
    await world.fund(by.address, 100_000n)
    expect(await refusal({}, { by })).toBeUndefined()
    expect(await refusal({ mode: amino }, { by })).toBeUndefined()
  })

  test('of an account that has paid before', async () => {
    const by = await world.newPayer()
    await world.carryOut(await world.pay(by))
    expect(await refusal({}, { by })).toBeUndefined()
  })

  test('with a memo as long as the chain allows, a timeout height ahead, and its payer named for the fee', async () => {
    expect(await refusal({ memo: 'é'.repeat(128) })).toBeUndefined()
    expect(await refusal(await inBlocks(5n))).toBeUndefined()
    expect(await refusal({ fee: feeOf({ payer: payer.address }) })).toBeUndefined()
    expect(await refusal({ fee: feeOf({ payer: payer.address }), mode: amino })).toBeUndefined()
  })

  test('whose fee we bear, of a payer that has the price and no more', async () => {
    const by = await world.newPayer(world.terms.amount)
    expect(await refusal(gasless(), { by })).toBeUndefined()
    expect(await refusal({ ...gasless(), mode: amino }, { by })).toBeUndefined()
    expect(await refusal(gasless({ amount: [coin('6000')] }), { by })).toBeUndefined()
  })

  test('that says of itself what it is', async () => {
    const { accountNumber, sequence } = await world.draft(payer)
    const wallets = { amount: [coin('5000')], gas: '200000' }
    for (const fee of ['5000', '5000uatom', wallets, { amount: wallets.amount }])
      expect(
        await refusal(
          { memo: 'hello' },
          {
            payload: (it) => ({
              ...it,
              signature: Buffer.from(
                TxRaw.decode(Buffer.from(it.payment.txBase64, 'base64')).signatures[0]!,
              ).toString('base64'),
              payment: {
                ...it.payment,
                fee,
                gas: '200000',
                memo: 'hello',
                sequence: Number(sequence),
                accountNumber: `${accountNumber}`,
              },
            }),
          },
        ),
      ).toBeUndefined()
  })

  test('at no fee where gas costs nothing, and that says so', async () => {
    const settings = { gasPrice: 0n }
    const payload = stating({ fee: '0' })
    expect(await refusal({ fee: feeOf({ amount: [] }) }, { settings, payload })).toBeUndefined()
  })

  test('that its payer has sent already and that waits, where it bears the fee itself', async () => {
    const by = await world.newPayer()
    const draft = await world.draft(by)
    await world.offer(signTx(by, draft))
    expect(await refusal({}, { by })).toBeUndefined()
    expect(await refusal(gasless(), { by })).toMatchObject({ reason: 'invalid_transaction_state' })
    await world.mine()
    expect(await refusal({ sequence: draft.sequence }, { by })).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })
})

describe('verify refuses terms', () => {
  test.each<[string, () => Partial<Terms>]>([
    ['of nothing', () => ({ amount: 0n })],
    ['of more than a chain counts', () => ({ amount: 2n ** 256n })],
    ['that pay an address of another chain', () => ({ payTo: underOsmo(world.terms.payTo) })],
    ['that pay the one who bears the fees', () => ({ payTo: world.signer.address })],
  ])('%s, for any payer', async (_, changes) => {
    const terms = { ...world.terms, ...changes() }
    const expected = { reason: 'invalid_payment_requirements' }
    expect(connect().payments.checkTerms(terms)).toMatchObject(expected)
    expect(connect().payments.checkTerms(world.terms)).toBeUndefined()
    const pays = { to: terms.payTo, coins: [coin(`${terms.amount % 2n ** 256n || 1n}`)] }
    expect(await refusal(pays, { terms: changes() })).toMatchObject(expected)
  })
})
