import { encodeSecp256k1Pubkey, makeSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { encodePubkey, makeAuthInfoBytes } from '@cosmjs/proto-signing'
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import * as fc from 'fast-check'
import {
  AMINO,
  aminoDocOf,
  DIRECT,
  keyTypeOf,
  readFee,
  writeAuthInfo,
  writeBody,
  writeTx,
} from './transaction'

const text = fc.string({ unit: 'grapheme', maxLength: 140 })
const digits = fc.bigInt({ min: 0n, max: 2n ** 256n }).map(String)
const count = fc.bigInt({ min: 0n, max: 2n ** 63n - 1n })
const coin = fc.record({ denom: text, amount: digits })
const send = fc.record({ from: text, to: text, coin })
const pubkey = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((x) => Uint8Array.of(2, ...x))
const fee = fc.record({ amount: fc.array(coin, { maxLength: 3 }), gas: count, granter: text, payer: text })
const SECP256K1 = '/cosmos.crypto.secp256k1.PubKey'

test('a body is, byte for byte, the one of CosmJS', () => {
  fc.assert(
    fc.property(send, text, count, ({ from, to, coin: paid }, memo, timeoutHeight) => {
      const value = MsgSend.encode({ fromAddress: from, toAddress: to, amount: [paid] }).finish()
      const messages = [{ typeUrl: '/cosmos.bank.v1beta1.MsgSend', value }]
      const body = TxBody.encode(TxBody.fromPartial({ messages, memo, timeoutHeight })).finish()
      expect(writeBody({ from, to, coin: paid }, { memo, timeoutHeight })).toEqual(body)
    }),
  )
})

test.each([
  ['direct', DIRECT, SignMode.SIGN_MODE_DIRECT],
  ['amino', AMINO, SignMode.SIGN_MODE_LEGACY_AMINO_JSON],
])('the signer and fee of %s mode are, byte for byte, those of CosmJS', (_, mode, signMode) => {
  fc.assert(
    fc.property(pubkey, fee, count, (key, { amount, gas, granter, payer }, sequence) => {
      const pubKey = Any.fromPartial(encodePubkey(encodeSecp256k1Pubkey(key)))
      // CosmJS takes both as numbers here.
      const [number, limit] = [Number(sequence % 2n ** 53n), Number(gas % 2n ** 53n)]
      const theirs = makeAuthInfoBytes(
        [{ pubkey: pubKey, sequence: number }],
        amount,
        limit,
        granter,
        payer,
        signMode,
      )
      const signer = { keyType: SECP256K1, pubkey: key, mode, sequence: BigInt(number) }
      const ours = writeAuthInfo(signer, { amount, gas: `${limit}`, granter, payer })
      expect(ours).toEqual(theirs)
      if (amount.length > 1) expect(() => readFee(ours)).toThrow(RangeError)
      else
        expect(readFee(ours)).toMatchObject({ amount, gas: `${limit}`, ...(granter !== '' && { granter }) })
    }),
  )
})

test('a transaction is, byte for byte, the one of CosmJS', () => {
  const bytes = fc.uint8Array({ maxLength: 2_000 })
  fc.assert(
    fc.property(bytes, bytes, bytes, (bodyBytes, authInfoBytes, signature) => {
      const raw = TxRaw.encode({ bodyBytes, authInfoBytes, signatures: [signature] }).finish()
      expect(writeTx(bodyBytes, authInfoBytes, signature)).toEqual(raw)
    }),
  )
})

test('the amino document is the one of CosmJS', () => {
  fc.assert(
    fc.property(send, text, count, fc.maxSafeNat(), count, (sent, chainId, accountNumber, number, height) => {
      const sequence = BigInt(number)
      const { from, to, coin: paid } = sent
      const timeoutHeight = height + 1n
      const stdFee = { amount: [paid], gas: '180000', granter: to }
      const value = { from_address: from, to_address: to, amount: [paid] }
      const messages = [{ type: 'cosmos-sdk/MsgSend', value }]
      const theirs = makeSignDoc(messages, stdFee, chainId, '', accountNumber, number, timeoutHeight)
      const ours = aminoDocOf(sent, { chainId, accountNumber, sequence, fee: stdFee, timeoutHeight })
      expect(ours).toEqual(theirs)
      expect(serializeSignDoc(ours)).toEqual(serializeSignDoc(theirs))
    }),
  )
})

test.each([
  ['as the chain has it', { type: '/x.Account', keyType: '/x.Key' }, 'secp256k1', '/x.Key'],
  ['of a new account', { type: '/cosmos.auth.v1beta1.BaseAccount' }, 'secp256k1', SECP256K1],
  [
    'of a new account of a chain with Ethereum’s keys',
    { type: '/cosmos.auth.v1beta1.BaseAccount' },
    'eth_secp256k1',
    '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey',
  ],
  [
    'of a new account on Injective, whatever the wallet calls it',
    { type: '/injective.types.v1beta1.EthAccount' },
    'secp256k1',
    '/injective.crypto.v1beta1.ethsecp256k1.PubKey',
  ],
  [
    'of a new account of Ethermint',
    { type: '/ethermint.types.v1.EthAccount' },
    'ethsecp256k1',
    '/ethermint.crypto.v1.ethsecp256k1.PubKey',
  ],
])('the type of a key is %s', (_, account, algo, expected) => {
  expect(keyTypeOf({ accountNumber: 1n, sequence: 0n, ...account }, { algo })).toBe(expected)
})
