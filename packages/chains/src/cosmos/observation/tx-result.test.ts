import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Terms } from '../../family'
import { hashOf, type TxResult } from '../rpc-schemas'
import { feeOf, hasSequence, settles } from './tx-result'
import type { CosmosNetwork } from '../network'
import { type CosmosPayment, readPayment } from '../transfer-methods/bank-send/payment'
import { type Draft, draftOf, payloadOf, sendOf, signTx, walletOf } from '../testing/transaction'

const [payer, signer, other] = [1, 2, 3].map((byte) => walletOf(new Uint8Array(32).fill(byte))) as [
  ReturnType<typeof walletOf>,
  ReturnType<typeof walletOf>,
  ReturnType<typeof walletOf>,
]
const terms: Terms = {
  token: { asset: 'uatom', symbol: 'ATOM', decimals: 6 },
  payTo: other.address,
  amount: 10_000n,
}
const network = { signer: signer.address, prefix: 'cosmos', feeDenom: 'uatom' } as CosmosNetwork

const minedOf = (txBytes: Uint8Array, changes: Partial<TxResult> = {}): TxResult => ({
  hash: hashOf(txBytes),
  height: 40n,
  code: 0,
  codespace: '',
  log: '',
  isCharged: true,
  txBytes,
  ...changes,
})
const draft = (changes: Partial<Draft> = {}) => draftOf(payer.address, other.address, changes)
const mined = (changes: Partial<Draft> = {}, result: Partial<TxResult> = {}, by = payer) =>
  minedOf(signTx(by, draft(changes)), result)

const payment = readPayment(payloadOf(payer, draft())) as CosmosPayment
const coins = (...amounts: string[]) => amounts.map((amount) => ({ denom: 'uatom', amount }))

describe('a mined transaction settles a payment', () => {
  test('if it is the send of that payment, whatever else differs', () => {
    expect(settles(mined(), payment, terms)).toBe(true)
    expect(settles(mined({ memo: 'again' }), payment, terms)).toBe(true)
  })

  test.each<[string, string]>([
    ['in hex', '0x2710'],
    ['in octal', '023420'],
    ['with a separator', '10_000'],
    ['with a sign', '+10000'],
    ['with a sign, in hex', '+0x2710'],
    ['with a sign, in octal', '+023420'],
    ['in binary', '0b10011100010000'],
  ])('where its amount is spelled %s', (_, amount) => {
    expect(settles(mined({ coins: coins(amount) }), payment, terms)).toBe(true)
  })

  test('if another signer pays its fee', () => {
    const [of, by] = [payer, signer].map(({ publicKeyAny }, index) => ({
      publicKey: publicKeyAny,
      modeInfo: { single: { mode: SignMode.SIGN_MODE_DIRECT } },
      sequence: index === 0 ? 3n : 8n,
    }))
    const signers = (...signerInfos: object[]) => mined({ authInfo: AuthInfo.fromPartial({ signerInfos }) })
    expect(settles(signers(of!, by!), payment, terms)).toBe(true)
    expect(settles(signers(by!, of!), payment, terms)).toBe(false)
  })

  test('if its addresses are in upper case', () => {
    const send = sendOf({
      from: payer.address.toUpperCase(),
      to: other.address.toUpperCase(),
      coins: coins('10000'),
    })
    expect(settles(mined({ body: { messages: [send] } }), payment, terms)).toBe(true)
  })

  const send = sendOf(draft())
  test.each<[string, Partial<Draft>, Partial<TxResult>?]>([
    ['failed', {}, { code: 5 }],
    ['sends less', { coins: coins('9999') }],
    ['sends more', { coins: coins('10001') }],
    ['sends what reads as another amount', { coins: coins('010000') }],
    ['sends what reads as another amount after its sign', { coins: coins('+010000') }],
    ['sends no amount', { coins: coins('ten') }],
    ['sends another denomination', { coins: [{ denom: 'uosmo', amount: '10000' }] }],
    ['sends two coins', { coins: [...coins('10000'), { denom: 'uosmo', amount: '1' }] }],
    ['sends nothing', { coins: [] }],
    ['sends to another', { to: signer.address }],
    ['sends from another', { from: signer.address }],
    ['has two messages', { body: { messages: [send, send] } }],
    ['has no message', { body: { messages: [] } }],
    [
      'has another message of the same content',
      { body: { messages: [{ typeUrl: '/cosmos.bank.v1beta1.MsgMultiSend', value: send.value }] } },
    ],
    ['has another sequence', { sequence: 4n }],
    ['has no signer', { authInfo: { signerInfos: [] } }],
  ])('not where it %s', (...[, changes, result]) => {
    expect(settles(mined(changes, result), payment, terms)).toBe(false)
  })

  test('not if the terms differ', () => {
    for (const change of [
      { amount: 9_999n },
      { payTo: signer.address },
      { token: { ...terms.token, asset: 'uosmo' } },
    ])
      expect(settles(mined(), payment, { ...terms, ...change })).toBe(false)
  })

  test('not if neither names an account', () => {
    expect(settles(mined({ to: 'unknown' }), payment, { ...terms, payTo: 'unknown' })).toBe(false)
  })

  test('not if another account paid the same with the same sequence', () => {
    const theirs = minedOf(signTx(signer, draftOf(signer.address, other.address)))
    expect(settles(theirs, payment, terms)).toBe(false)
  })

  test('and is unavailable if its bytes are malformed', () => {
    expect(() => settles(minedOf(Uint8Array.of(0x0a, 0xff)), payment, terms)).toThrow(
      'a malformed transaction',
    )
    const malformed = { typeUrl: MsgSend.typeUrl, value: Uint8Array.of(0x0a, 0xff) }
    expect(() => settles(mined({ body: { messages: [malformed] } }), payment, terms)).toThrow(
      'a malformed transaction',
    )
  })
})

test('a transaction has the sequences of its signers', () => {
  expect(hasSequence(mined(), 3n)).toBe(true)
  expect(hasSequence(mined(), 4n)).toBe(false)
})

describe('the fee that we paid for a transaction', () => {
  const feeBy = (named: { payer?: string; granter?: string }): Partial<Draft> => ({
    fee: { amount: coins('5000'), gas: 200_000n, payer: '', granter: '', ...named },
  })

  test.each<[bigint, string, Partial<Draft>, Partial<TxResult>?]>([
    [0n, 'its payer signed and pays', {}],
    [5_000n, 'names us as granter', feeBy({ granter: signer.address })],
    [5_000n, 'names us as granter in upper case', feeBy({ granter: signer.address.toUpperCase() })],
    [5_000n, 'names us as payer', feeBy({ payer: signer.address })],
    [
      0n,
      'names us as payer, and another as granter',
      feeBy({ payer: signer.address, granter: other.address }),
    ],
    [0n, 'took nothing', feeBy({ granter: signer.address }), { code: 32, isCharged: false }],
    [5_000n, 'failed and took its fee', feeBy({ granter: signer.address }), { code: 5 }],
  ])('is %s where it %s', (...[fee, , changes, result]) => {
    expect(feeOf(mined(changes, result), network)).toBe(fee)
  })

  test('is the fee of our own transaction, in the fee denomination', () => {
    expect(feeOf(mined({}, {}, signer), network)).toBe(5_000n)
    const fee = {
      amount: [{ denom: 'uosmo', amount: '7' }, ...coins('0x10')],
      gas: 1n,
      payer: '',
      granter: '',
    }
    expect(feeOf(mined({ fee }, {}, signer), network)).toBe(16n)
  })
})
