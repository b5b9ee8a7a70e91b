import { isOfflineDirectSigner, makeSignDoc } from '@cosmjs/proto-signing'
import { StargateClient } from '@cosmjs/stargate'
import { COSMOS_CHAIN_ID } from '@tollgate/cosmos-devchain'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { createHash } from 'node:crypto'
import {
  COSMOS_AMOUNT,
  cosmosRequestOf,
  signSend,
  type CosmosChanges,
  type CosmosRequest,
  type CosmosWallet,
} from './cosmos'

type Parts = { body: TxBody; authInfo: AuthInfo; bodyBytes: Uint8Array; authInfoBytes: Uint8Array }

export type Forgery = CosmosChanges & {
  say?: (parts: Parts) => Partial<Parts>
  chainId?: string
  accountNumber?: number
  signedBy?: CosmosWallet
  after?: (tx: TxRaw) => Partial<TxRaw> | Uint8Array
}

export async function forge(
  rpcUrl: string,
  payer: CosmosWallet,
  payTo: string,
  {
    say = () => ({}),
    chainId = COSMOS_CHAIN_ID,
    signedBy = payer,
    after = () => ({}),
    ...changes
  }: Forgery = {},
): Promise<CosmosRequest> {
  const tx = TxRaw.decode(await signSend(rpcUrl, payer, payTo, changes))
  const said = say({ ...tx, body: TxBody.decode(tx.bodyBytes), authInfo: AuthInfo.decode(tx.authInfoBytes) })
  const bodyBytes = said.body ? TxBody.encode(said.body).finish() : (said.bodyBytes ?? tx.bodyBytes)
  const authInfoBytes = said.authInfo
    ? AuthInfo.encode(said.authInfo).finish()
    : (said.authInfoBytes ?? tx.authInfoBytes)
  const client = await StargateClient.connect(rpcUrl)
  const { accountNumber } = await client.getSequence(payer.address)
  client.disconnect()
  const signDoc = makeSignDoc(bodyBytes, authInfoBytes, chainId, changes.accountNumber ?? accountNumber)
  if (!isOfflineDirectSigner(signedBy.signer)) throw new Error('The wallet does not sign in SIGN_MODE_DIRECT')
  const { signature } = await signedBy.signer.signDirect(signedBy.address, signDoc)
  const signed = { bodyBytes, authInfoBytes, signatures: [bytesOf(signature.signature)] }
  const last = after(signed)
  const bytes = last instanceof Uint8Array ? last : TxRaw.encode({ ...signed, ...last }).finish()
  return cosmosRequestOf(payer, bytes, { payTo, amount: COSMOS_AMOUNT })
}

export const bytesOf = (base64: string) => new Uint8Array(Buffer.from(base64, 'base64'))
export const joined = (...parts: readonly Uint8Array[]) => new Uint8Array(Buffer.concat(parts))

/** Field 99, which no message defines. */
export const UNKNOWN_FIELD = Uint8Array.of(0x9a, 0x06, 1, 1)
/** Field 1024: a non-critical field that chains ignore in a body (ADR-020). */
export const NON_CRITICAL_FIELD = Uint8Array.of(0x82, 0x40, 1, 1)

export function withUnsignedFields(
  body: CosmosRequest,
  changes: Partial<Record<string, unknown>>,
): CosmosRequest {
  const changed = structuredClone(body)
  Object.assign(changed.paymentPayload.payload.payment, changes)
  return changed
}

export const txOf = (body: CosmosRequest) => bytesOf(body.paymentPayload.payload.payment.txBase64)

export const hashOf = (tx: Uint8Array) => createHash('sha256').update(tx).digest('hex').toUpperCase()

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

export function toHighS(signature: Uint8Array): Uint8Array {
  const s = ORDER - BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`)
  return joined(signature.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex'))
}
