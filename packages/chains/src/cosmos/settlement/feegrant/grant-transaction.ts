import { createHash } from 'node:crypto'
import { makeAuthInfoBytes, makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import type { CosmosNetwork } from '../../network'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { SignDoc, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import type { SignedTransaction, UnsignedTransaction } from '../../../family'
import type { Signer } from '../../../signers/signer'
import type { Coin } from '../../signing/tx'

/** The content and the signing context of a transaction that grants allowances. */
export type GrantTransaction = {
  messages: readonly Any[]
  gas: bigint
  fee: Coin
  chainId: string
  accountNumber: bigint
  sequence: bigint
}

export const encodeSecp256k1Key = (key: Uint8Array): Any =>
  Any.fromPartial({
    typeUrl: PubKey.typeUrl,
    value: PubKey.encode(PubKey.fromPartial({ key })).finish(),
  })

/** Rejects, so that payments wait, if our account has no funds. */
export async function getAccountNumber({ rpc, name, signer, feeDenom }: CosmosNetwork): Promise<bigint> {
  const [account, funds] = await Promise.all([rpc.account(signer), rpc.balance(signer, feeDenom)])
  if (account === undefined || funds === 0n)
    throw new Error(`${signer} has no ${feeDenom} on ${name} for fees: fund it`)
  return account.accountNumber
}

function encodeParts({ publicKey }: Signer, { messages, gas, fee, sequence }: GrantTransaction) {
  const pubkey = encodeSecp256k1Key(publicKey)
  const coins = fee.amount === 0n ? [] : [{ denom: fee.denom, amount: fee.amount.toString() }]
  return {
    bodyBytes: TxBody.encode(TxBody.fromPartial({ messages: [...messages] })).finish(),
    authInfoBytes: makeAuthInfoBytes([{ pubkey, sequence }], coins, Number(gas), undefined, undefined),
  }
}

/** What is signed in SIGN_MODE_DIRECT. */
export function encodeSignDoc(signer: Signer, content: GrantTransaction): Uint8Array {
  const { bodyBytes, authInfoBytes } = encodeParts(signer, content)
  return makeSignBytes(makeSignDoc(bodyBytes, authInfoBytes, content.chainId, content.accountNumber))
}

/** Signs a sign doc. `signatures`: those of other signers, which come first. */
export async function signDirect(
  { bytes, signatures = [] }: Pick<UnsignedTransaction, 'bytes' | 'signatures'>,
  signer: Signer,
): Promise<SignedTransaction> {
  const { bodyBytes, authInfoBytes } = SignDoc.decode(bytes)
  const raw = TxRaw.encode({
    bodyBytes,
    authInfoBytes,
    signatures: [...signatures, await signer.sign(bytes)],
  }).finish()
  return {
    raw: Buffer.from(raw).toString('base64'),
    hash: createHash('sha256').update(raw).digest('hex').toUpperCase(),
  }
}

/** For simulation: as long as the signed transaction, with an empty signature. */
export const encodeUnsigned = (signer: Signer, content: GrantTransaction): Uint8Array =>
  TxRaw.encode({ ...encodeParts(signer, content), signatures: [new Uint8Array(64)] }).finish()
