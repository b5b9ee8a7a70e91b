import { type ChainAccount } from './node.js'
import { toBase64 } from './base64.js'
import { bytesAt, numberAt, readMessage, textAt, writeMessage } from './protobuf.js'
import { type AminoDoc, type Coin, type CosmosAccount, type Fee } from './signer.js'

/** Numbers of `cosmos.tx.signing.v1beta1.SignMode`. */
export const DIRECT = 1n
export const AMINO = 127n

export type Send = { from: string; to: string; coin: Coin }

const anyOf = (typeUrl: string, value: Uint8Array) => writeMessage({ 1: typeUrl, 2: value })

const writeCoin = ({ denom, amount }: Coin) => writeMessage({ 1: denom, 2: amount })

/** A TxBody with one MsgSend. */
export function writeBody(
  { from, to, coin }: Send,
  { memo = '', timeoutHeight }: { memo?: string; timeoutHeight: bigint },
) {
  const send = writeMessage({ 1: from, 2: to, 3: [writeCoin(coin)] })
  return writeMessage({ 1: [anyOf('/cosmos.bank.v1beta1.MsgSend', send)], 2: memo, 3: timeoutHeight })
}

type Signer = { keyType: string; pubkey: Uint8Array; mode: bigint; sequence: bigint }

/** An AuthInfo with one signer. */
export function writeAuthInfo({ keyType, pubkey, mode, sequence }: Signer, fee: Fee): Uint8Array {
  const single = writeMessage({ 1: mode })
  const modeInfo = writeMessage({ 1: [single] })
  const key = anyOf(keyType, writeMessage({ 1: pubkey }))
  const signer = writeMessage({ 1: [key], 2: [modeInfo], 3: sequence })
  return writeMessage({ 1: [signer], 2: [writeFee(fee)] })
}

const writeFee = ({ amount, gas, payer = '', granter = '' }: Fee) =>
  writeMessage({ 1: amount.map(writeCoin), 2: BigInt(gas), 3: payer, 4: granter })

/** The fee of an AuthInfo. @throws RangeError if it has several coins, or is encoded as no wallet encodes it */
export function readFee(authInfo: Uint8Array): Fee {
  const bytes = bytesAt(readMessage(authInfo), 2)
  const fields = readMessage(bytes)
  const coin = readMessage(bytesAt(fields, 1))
  const [payer, granter] = [textAt(fields, 3), textAt(fields, 4)]
  const fee: Fee = {
    amount: fields.has(1) ? [{ denom: textAt(coin, 1), amount: textAt(coin, 2) }] : [],
    gas: `${numberAt(fields, 2)}`,
    ...(payer !== '' && { payer }),
    ...(granter !== '' && { granter }),
  }
  // Of a repeated field the last one was read: the others would be missing.
  if (toBase64(writeFee(fee)) !== toBase64(bytes)) throw new RangeError('Not one fee')
  return fee
}

export const writeTx = (body: Uint8Array, authInfo: Uint8Array, signature: Uint8Array): Uint8Array =>
  writeMessage({ 1: body, 2: authInfo, 3: [signature] })

/** The same transaction as SIGN_MODE_LEGACY_AMINO_JSON signs it. */
export const aminoDocOf = (
  { from, to, coin }: Send,
  {
    chainId,
    accountNumber,
    sequence,
    fee,
    timeoutHeight,
  }: { chainId: string; accountNumber: bigint; sequence: bigint; fee: Fee; timeoutHeight: bigint },
): AminoDoc => ({
  chain_id: chainId,
  account_number: `${accountNumber}`,
  sequence: `${sequence}`,
  fee,
  msgs: [{ type: 'cosmos-sdk/MsgSend', value: { from_address: from, to_address: to, amount: [coin] } }],
  memo: '',
  timeout_height: `${timeoutHeight}`,
})

/** An arbitrary text for ADR-036: a document that no chain executes. `data` in base64. */
export const textDocOf = (signer: string, data: string): AminoDoc => ({
  chain_id: '',
  account_number: '0',
  sequence: '0',
  fee: { gas: '0', amount: [] },
  msgs: [{ type: 'sign/MsgSignData', value: { signer, data } }],
  memo: '',
})

const SECP256K1 = '/cosmos.crypto.secp256k1.PubKey'
const EVM_KEY = '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey'

/** Chains with Ethereum's keys gave them their own type URLs, as they did their accounts. */
const keyTypes: ReadonlyMap<string, string> = new Map([
  ['/injective.types.v1beta1.EthAccount', '/injective.crypto.v1beta1.ethsecp256k1.PubKey'],
  ['/ethermint.types.v1.EthAccount', '/ethermint.crypto.v1.ethsecp256k1.PubKey'],
])

/** The type URL of the key. What the chain says comes first: some wallets give `secp256k1` as the algorithm of every key. */
export const keyTypeOf = ({ keyType, type }: ChainAccount, { algo }: Pick<CosmosAccount, 'algo'>): string =>
  keyType ?? keyTypes.get(type) ?? (/^eth_?secp256k1$/.test(algo) ? EVM_KEY : SECP256K1)
