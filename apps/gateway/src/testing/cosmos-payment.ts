import { makeSignDoc, serializeSignDoc } from '@cosmjs/amino'
import { toBase64, toUtf8 } from '@cosmjs/encoding'
import { encodeJson } from '@tollgate/protocol'
import { cosmosPlanOf } from './catalog'
import { type CosmosWallet } from './cosmos-wallet'

type Terms = Pick<ReturnType<typeof cosmosPlanOf>, 'asset_address' | 'amount' | 'pay_to'> & {
  chain_id?: string
}

type SendOptions = {
  sequence?: number
  memo?: string
  gas?: number
  granter?: string
  /** It signs too, so the payer signs the amino document. */
  feePayer?: string
  accountNumber?: number
}

const field = (number: number, value: Uint8Array | string | number): Uint8Array => {
  if (typeof value === 'number')
    return value === 0 ? new Uint8Array() : Uint8Array.of(number << 3, ...varint(value))
  const bytes = typeof value === 'string' ? toUtf8(value) : value
  if (bytes.length === 0 && typeof value === 'string') return new Uint8Array()
  return Buffer.concat([Uint8Array.of((number << 3) | 2, ...varint(bytes.length)), bytes])
}
const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]
const message = (...fields: Uint8Array[]): Uint8Array => Buffer.concat(fields)
const any = (typeUrl: string, value: Uint8Array) => message(field(1, typeUrl), field(2, value))
const coin = (denom: string, amount: string) => message(field(1, denom), field(2, amount))

const CHAIN_ID = cosmosPlanOf().chain_id
export const ACCOUNT_NUMBER = 7
const SIGN_MODE_DIRECT = 1
const SIGN_MODE_LEGACY_AMINO_JSON = 127
const TIMEOUT_HEIGHT = 1_000

export function signSend(
  { address, publicKey, sign }: Pick<CosmosWallet, 'address' | 'publicKey' | 'sign'>,
  { asset_address: denom, amount, pay_to: recipient, chain_id = CHAIN_ID }: Terms = cosmosPlanOf(),
  { sequence = 0, memo = '', gas = 120_000, granter = '', feePayer, accountNumber }: SendOptions = {},
) {
  const send = message(field(1, address), field(2, recipient), field(3, coin(denom, amount)))
  const body = message(
    field(1, any('/cosmos.bank.v1beta1.MsgSend', send)),
    field(2, memo),
    field(3, feePayer === undefined ? 0 : TIMEOUT_HEIGHT),
  )
  const key = any('/cosmos.crypto.secp256k1.PubKey', field(1, publicKey))
  const signer = message(
    field(1, key),
    field(2, field(1, field(1, feePayer === undefined ? SIGN_MODE_DIRECT : SIGN_MODE_LEGACY_AMINO_JSON))),
    field(3, sequence),
  )
  const fee = message(
    field(1, coin('uosmo', '3000')),
    field(2, gas),
    field(3, feePayer ?? ''),
    field(4, granter),
  )
  const authInfo = message(field(1, signer), field(2, fee))
  const direct = message(field(1, body), field(2, authInfo), field(3, chain_id), field(4, ACCOUNT_NUMBER))
  const amino = () => {
    const value = { from_address: address, to_address: recipient, amount: [{ denom, amount }] }
    const paid = { amount: [{ denom: 'uosmo', amount: '3000' }], gas: String(gas), payer: feePayer! }
    const sent = { type: 'cosmos-sdk/MsgSend', value }
    return serializeSignDoc(
      makeSignDoc([sent], paid, chain_id, memo, ACCOUNT_NUMBER, sequence, BigInt(TIMEOUT_HEIGHT)),
    )
  }
  const doc = feePayer === undefined ? direct : amino()
  const tx = message(field(1, body), field(2, authInfo), field(3, sign(doc)))
  const payment = {
    amount,
    denom,
    payer: address,
    recipient,
    txBase64: toBase64(tx),
    publicKey: toBase64(publicKey),
    ...(accountNumber === undefined ? {} : { accountNumber }),
  }
  return { version: 1, chainId: chain_id, payment }
}

export type SignedSend = ReturnType<typeof signSend>

/** The payment in x402 version 1: signed bytes in base64, the network as chain id. */
export const cosmosX402 = (signed: SignedSend) => ({
  x402Version: 1,
  scheme: 'exact',
  network: signed.chainId,
  payload: encodeJson(signed),
})
