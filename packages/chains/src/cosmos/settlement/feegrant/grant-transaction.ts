import { createHash } from 'node:crypto'
import { makeAuthInfoBytes, makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import type { Any } from 'cosmjs-types/google/protobuf/any'
import type { SignedTransaction } from '../../../family'
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

function encodeParts({ publicKey }: Signer, { messages, gas, fee, sequence }: GrantTransaction) {
  const pubkey = {
    typeUrl: PubKey.typeUrl,
    value: PubKey.encode(PubKey.fromPartial({ key: publicKey })).finish(),
  }
  const coins = fee.amount === 0n ? [] : [{ denom: fee.denom, amount: fee.amount.toString() }]
  return {
    bodyBytes: TxBody.encode(TxBody.fromPartial({ messages: [...messages] })).finish(),
    authInfoBytes: makeAuthInfoBytes([{ pubkey, sequence }], coins, Number(gas), undefined, undefined),
  }
}

/** Signs in SIGN_MODE_DIRECT. */
export async function signGrantTransaction(
  signer: Signer,
  content: GrantTransaction,
): Promise<SignedTransaction> {
  const { bodyBytes, authInfoBytes } = encodeParts(signer, content)
  const signBytes = makeSignBytes(
    makeSignDoc(bodyBytes, authInfoBytes, content.chainId, content.accountNumber),
  )
  const raw = TxRaw.encode({
    bodyBytes,
    authInfoBytes,
    signatures: [await signer.sign(signBytes)],
  }).finish()
  return {
    raw: Buffer.from(raw).toString('base64'),
    hash: createHash('sha256').update(raw).digest('hex').toUpperCase(),
  }
}

/** For simulation: as long as the signed transaction, with an empty signature. */
export const encodeUnsigned = (signer: Signer, content: GrantTransaction): Uint8Array =>
  TxRaw.encode({ ...encodeParts(signer, content), signatures: [new Uint8Array(64)] }).finish()
