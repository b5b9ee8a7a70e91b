import { encodeSecp256k1Pubkey, makeSignDoc as makeAminoSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { Secp256k1, sha256 } from '@cosmjs/crypto'
import { encodePubkey, makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { keccak256 } from '../../keccak'
import { addressOf } from '../address'
import type { PublicKey } from '../signing/public-key'

export const CHAIN_ID = 'tollgate-devnet-1'

/** A wallet that signs whatever it is given, also what no wallet would. */
export function walletOf(privateKey: Uint8Array, type: PublicKey['type'] = 'secp256k1', prefix = 'cosmos') {
  const bytes = Secp256k1.compressPubkey(Secp256k1.makeKeypair(privateKey).pubkey)
  const digestOf = (signBytes: Uint8Array) =>
    type === 'secp256k1' ? sha256(signBytes) : Buffer.from(keccak256(signBytes).slice(2), 'hex')
  const typeUrl = '/ethermint.crypto.v1.ethsecp256k1.PubKey'
  const secp256k1 = Any.fromPartial(encodePubkey(encodeSecp256k1Pubkey(bytes)))
  return {
    privateKey,
    address: addressOf({ type, bytes }, prefix),
    publicKey: bytes,
    publicKeyAny: type === 'secp256k1' ? secp256k1 : Any.fromPartial({ typeUrl, value: secp256k1.value }),
    sign: (signBytes: Uint8Array): Uint8Array =>
      Secp256k1.createSignature(digestOf(signBytes), privateKey).toFixedLength().subarray(0, 64),
  }
}
export type TestWallet = ReturnType<typeof walletOf>

type CoinText = { denom: string; amount: string }

export type Draft = {
  from: string
  to: string
  coins: readonly CoinText[]
  chainId: string
  accountNumber: bigint
  sequence: bigint
  mode: SignMode
  fee: { amount: readonly CoinText[]; gas: bigint; payer: string; granter: string }
  memo: string
  timeoutHeight: bigint
  /** In place of what the rest comes to. */
  body?: Partial<TxBody>
  authInfo?: Partial<AuthInfo>
}

/** What a wallet that pays 10000uatom to `to` would sign, but for the changes. */
export const draftOf = (from: string, to: string, changes: Partial<Draft> = {}): Draft => ({
  from,
  to,
  coins: [{ denom: 'uatom', amount: '10000' }],
  chainId: CHAIN_ID,
  accountNumber: 7n,
  sequence: 3n,
  mode: SignMode.SIGN_MODE_DIRECT,
  fee: { amount: [{ denom: 'uatom', amount: '5000' }], gas: 200_000n, payer: '', granter: '' },
  memo: '',
  timeoutHeight: 0n,
  ...changes,
})

export const sendOf = ({ from, to, coins }: Pick<Draft, 'from' | 'to' | 'coins'>): Any =>
  Any.fromPartial({
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: MsgSend.encode({ fromAddress: from, toAddress: to, amount: [...coins] }).finish(),
  })

/** The parts of a transaction, encoded by a library of wallets. */
export function encodeDraft(wallet: TestWallet, draft: Draft) {
  const { mode, sequence, fee, memo, timeoutHeight } = draft
  const body = { messages: [sendOf(draft)], memo, timeoutHeight, ...draft.body }
  const authInfo = {
    signerInfos: [{ publicKey: wallet.publicKeyAny, modeInfo: { single: { mode } }, sequence }],
    fee: { amount: [...fee.amount], gasLimit: fee.gas, payer: fee.payer, granter: fee.granter },
    ...draft.authInfo,
  }
  return {
    bodyBytes: TxBody.encode(TxBody.fromPartial(body)).finish(),
    authInfoBytes: AuthInfo.encode(AuthInfo.fromPartial(authInfo)).finish(),
  }
}

/** What the wallet signs, as libraries of wallets make it. */
export function signBytesFor(
  draft: Draft,
  { bodyBytes, authInfoBytes }: { bodyBytes: Uint8Array; authInfoBytes: Uint8Array },
): Uint8Array {
  const { from, to, coins, chainId, accountNumber, sequence, memo, timeoutHeight } = draft
  if (draft.mode !== SignMode.SIGN_MODE_LEGACY_AMINO_JSON)
    return makeSignBytes(makeSignDoc(bodyBytes, authInfoBytes, chainId, accountNumber))
  const { amount, gas, payer, granter } = draft.fee
  const message = {
    type: 'cosmos-sdk/MsgSend',
    value: { from_address: from, to_address: to, amount: [...coins] },
  }
  const fee = { amount, gas: `${gas}`, ...(payer && { payer }), ...(granter && { granter }) }
  const timeout = timeoutHeight || undefined
  return serializeSignDoc(
    makeAminoSignDoc([message], fee, chainId, memo, accountNumber, `${sequence}`, timeout),
  )
}

/** The draft, signed: the bytes of its TxRaw. */
export function signTx(wallet: TestWallet, draft: Draft): Uint8Array {
  const parts = encodeDraft(wallet, draft)
  return TxRaw.encode({ ...parts, signatures: [wallet.sign(signBytesFor(draft, parts))] }).finish()
}

/** A payload as a client sends it, of a draft and the bytes that came of it. */
export function payloadOf(wallet: TestWallet, draft: Draft, tx: Uint8Array = signTx(wallet, draft)) {
  const [coin = { denom: 'uatom', amount: '0' }] = draft.coins
  return {
    version: 1,
    chainId: draft.chainId,
    payment: {
      amount: coin.amount,
      denom: coin.denom,
      payer: wallet.address,
      recipient: draft.to,
      txBase64: Buffer.from(tx).toString('base64'),
      publicKey: Buffer.from(wallet.publicKey).toString('base64'),
    },
  }
}

/** One field of a protobuf message: bytes, or a number. */
export function field(number: number, value: Uint8Array | number): Uint8Array {
  if (typeof value === 'number') return Uint8Array.of((number << 3) | 0, ...varint(value))
  return Uint8Array.of(...varint((number << 3) | 2), ...varint(value.length), ...value)
}

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]

export const joined = (...parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts))
