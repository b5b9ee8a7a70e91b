import { createHash, randomBytes } from 'node:crypto'
import { makeSignDoc as makeAminoDoc, serializeSignDoc } from '@cosmjs/amino'
import { keccak256, Secp256k1 } from '@cosmjs/crypto'
import { PubKey } from 'cosmjs-types/cosmos/crypto/secp256k1/keys'
import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, Fee, SignDoc, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { readAccount } from '../app/accounts'
import { addressOf } from '../app/address'
import { balanceOf } from '../app/bank'
import { type TestNode } from './node'

export type Wallet = ReturnType<typeof newWallet>

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

export function newWallet(type: 'secp256k1' | 'ethsecp256k1' = 'secp256k1', key = randomBytes(32)) {
  const { pubkey } = Secp256k1.makeKeypair(Uint8Array.from(key))
  const bytes = Secp256k1.compressPubkey(pubkey)
  const hash = (name: string, of: Uint8Array) => createHash(name).update(of).digest()
  const isEthereum = type === 'ethsecp256k1'
  const raw = isEthereum
    ? keccak256(pubkey.subarray(1)).subarray(-20)
    : hash('ripemd160', hash('sha256', bytes))
  const typeUrl = isEthereum ? '/ethermint.crypto.v1.ethsecp256k1.PubKey' : '/cosmos.crypto.secp256k1.PubKey'
  const value = Uint8Array.from(PubKey.encode({ key: bytes }).finish())
  return {
    key: Uint8Array.from(key),
    address: addressOf(raw),
    publicKey: Any.fromPartial({ typeUrl, value }),
    sign(signBytes: Uint8Array) {
      const digest = isEthereum ? keccak256(signBytes) : Uint8Array.from(hash('sha256', signBytes))
      return Secp256k1.createSignature(digest, Uint8Array.from(key)).toFixedLength().slice(0, 64)
    },
  }
}

/** The equivalent signature with high s: the order minus s. */
export function highS(signature: Uint8Array): Uint8Array {
  const s = ORDER - BigInt(`0x${Buffer.from(signature.subarray(32)).toString('hex')}`)
  return Uint8Array.from([
    ...signature.subarray(0, 32),
    ...Buffer.from(s.toString(16).padStart(64, '0'), 'hex'),
  ])
}

export const sendMessage = (from: string, to: string, amount: string, denom = 'uatom') =>
  Any.fromPartial({
    typeUrl: '/cosmos.bank.v1beta1.MsgSend',
    value: MsgSend.encode({ fromAddress: from, toAddress: to, amount: [{ denom, amount }] }).finish(),
  })

export type TxOverrides = {
  messages?: Any[]
  body?: Partial<TxBody>
  fee?: Partial<Fee>
  mode?: SignMode
  /** Values of the sign document that differ from the chain's. */
  signed?: { chainId?: string; accountNumber?: bigint; sequence?: bigint; memo?: string }
  /** Values of the transaction. */
  sequence?: bigint
  publicKey?: Any | null
  /** Applied before signing. */
  changeAuthInfo?: (authInfo: AuthInfo) => AuthInfo
  changeBodyBytes?: (bytes: Uint8Array) => Uint8Array
  changeAuthInfoBytes?: (bytes: Uint8Array) => Uint8Array
  /** Applied after signing. */
  changeSignature?: (signature: Uint8Array) => Uint8Array
  changeRaw?: (raw: TxRaw) => TxRaw
  changeBytes?: (bytes: Uint8Array) => Uint8Array
}

export const GAS = 200_000n
export const FEE = { denom: 'uatom', amount: '5000' }

/** A valid transaction, one uatom from the wallet to itself, with these changes. */
export function signedTx(
  { chain }: { chain: Pick<TestNode['chain'], 'chainId' | 'store'> },
  wallet: Wallet,
  overrides: TxOverrides = {},
): Uint8Array {
  const account = readAccount(chain.store, wallet.address)
  const { mode = SignMode.SIGN_MODE_DIRECT, signed = {} } = overrides
  const sequence = overrides.sequence ?? account?.sequence ?? 0n
  const accountNumber = signed.accountNumber ?? account?.accountNumber ?? 0n
  const chainId = signed.chainId ?? chain.chainId
  const body = TxBody.fromPartial({
    messages: overrides.messages ?? [sendMessage(wallet.address, wallet.address, '1')],
    ...overrides.body,
  })
  const plain = AuthInfo.fromPartial({
    signerInfos: [
      {
        ...(overrides.publicKey !== null && { publicKey: overrides.publicKey ?? wallet.publicKey }),
        modeInfo: { single: { mode } },
        sequence,
      },
    ],
    fee: Fee.fromPartial({ amount: [FEE], gasLimit: GAS, ...overrides.fee }),
  })
  const authInfo = overrides.changeAuthInfo?.(plain) ?? plain
  const change = <T>(by: ((of: T) => T) | undefined, of: T) => (by ? by(of) : of)
  const bodyBytes = change(overrides.changeBodyBytes, TxBody.encode(body).finish())
  const authInfoBytes = change(overrides.changeAuthInfoBytes, AuthInfo.encode(authInfo).finish())
  const direct = SignDoc.encode({ bodyBytes, authInfoBytes, chainId, accountNumber }).finish()
  const amino = () =>
    serializeSignDoc(
      makeAminoDoc(
        body.messages.map(({ value }) => {
          const { fromAddress, toAddress, amount } = MsgSend.decode(value)
          return {
            type: 'cosmos-sdk/MsgSend',
            value: { from_address: fromAddress, to_address: toAddress, amount },
          }
        }),
        {
          amount: authInfo.fee?.amount ?? [],
          gas: String(authInfo.fee?.gasLimit ?? 0n),
          ...(authInfo.fee?.granter && { granter: authInfo.fee.granter }),
        },
        chainId,
        signed.memo ?? body.memo,
        Number(accountNumber),
        Number(signed.sequence ?? sequence),
        body.timeoutHeight,
      ),
    )
  const signature = wallet.sign(mode === SignMode.SIGN_MODE_LEGACY_AMINO_JSON ? amino() : direct)
  const raw = TxRaw.fromPartial({
    bodyBytes,
    authInfoBytes,
    signatures: [change(overrides.changeSignature, signature)],
  })
  return change(overrides.changeBytes, TxRaw.encode(change(overrides.changeRaw, raw)).finish())
}

export type Outcome = {
  code: number
  codespace: string
  log: string
  hash: string
}

export async function broadcast({ call }: TestNode, bytes: Uint8Array): Promise<Outcome> {
  return (await call('broadcast_tx_sync', Buffer.from(bytes).toString('base64'))) as Outcome
}

/** Broadcasts, creates a block, and returns the result in it. */
export async function deliver(node: TestNode, bytes: Uint8Array): Promise<Outcome & { events: unknown[] }> {
  const { hash, ...checked } = await broadcast(node, bytes)
  if (checked.code !== 0) return { ...checked, hash, events: [] }
  node.chain.mine()
  const found = node.chain.index.get(hash)
  if (!found) throw new Error('The transaction is in no block')
  return { ...found.result, hash }
}

export async function fundedWallet(
  node: TestNode,
  coins = '1000000uatom',
  type?: 'secp256k1' | 'ethsecp256k1',
) {
  const wallet = newWallet(type)
  await node.call('dev_fund', wallet.address, coins)
  return wallet
}

export const balance = ({ chain }: TestNode, address: string, denom = 'uatom') =>
  balanceOf(chain.store, address, denom)

export const sequenceOf = ({ chain }: TestNode, address: string) =>
  readAccount(chain.store, address)?.sequence
