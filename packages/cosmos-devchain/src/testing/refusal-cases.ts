import { fromBech32, toBech32 } from '@cosmjs/encoding'
import { LegacyAminoPubKey } from 'cosmjs-types/cosmos/crypto/multisig/keys'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { timestampOf } from '../app/time'
import { developmentCosmosWallets } from '../wallets'
import { FEE, highS, newWallet, sendMessage, type TxOverrides, type Wallet } from './tx'

/** Field 15 as a varint: critical. Field 1024 as a varint: not critical (ADR-020). */
const UNKNOWN = [0x78, 1]
export const UNKNOWN_NON_CRITICAL = [0x80, 0x40, 1]
export const appended = (more: number[]) => (bytes: Uint8Array) => Uint8Array.from([...bytes, ...more])
const thirdParty = newWallet()

export type RefusalCase = readonly [
  what: string,
  codespace: string,
  code: number,
  overrides: (wallet: Wallet) => TxOverrides,
]

/** Transactions that a node refuses at the check, in every sign mode. */
export const directRefusals: readonly RefusalCase[] = [
  [
    'a signature of something else',
    'sdk',
    4,
    () => ({ changeSignature: (s) => s.map((b, i) => (i === 40 ? b ^ 1 : b)) }),
  ],
  [
    'a signature by another key',
    'sdk',
    4,
    () => ({ changeSignature: () => thirdParty.sign(Buffer.from('x')) }),
  ],
  ['a high-s signature', 'sdk', 4, () => ({ changeSignature: highS })],
  ['a signature with a recovery byte', 'sdk', 4, () => ({ changeSignature: appended([0]) })],
  ['no bytes of a signature', 'sdk', 4, () => ({ changeSignature: () => new Uint8Array() })],
  ['another chain id', 'sdk', 4, () => ({ signed: { chainId: 'cosmoshub-4' } })],
  ['another account number', 'sdk', 4, () => ({ signed: { accountNumber: 4_000_000n } })],
  ['a sequence ahead', 'sdk', 32, () => ({ sequence: 1n })],
  ['a memo that was not signed', 'sdk', 4, () => ({ changeRaw: replaceBody('/memo') })],
  [
    'another signature more than signers',
    'sdk',
    4,
    () => ({
      changeRaw: (raw) => ({ ...raw, signatures: [...raw.signatures, thirdParty.sign(Buffer.from('x'))] }),
    }),
  ],
  ['no signature at all', 'sdk', 15, () => ({ changeRaw: (raw) => ({ ...raw, signatures: [] }) })],
  ['a public key of another wallet', 'sdk', 8, () => ({ publicKey: thirdParty.publicKey })],
  [
    'the same bytes as a key of the other kind',
    'sdk',
    8,
    (wallet) => ({ publicKey: { ...wallet.publicKey, typeUrl: '/ethermint.crypto.v1.ethsecp256k1.PubKey' } }),
  ],
  ['no public key on a first transaction', 'sdk', 8, () => ({ publicKey: null })],
  ['a multisig public key', 'sdk', 8, (wallet) => ({ publicKey: multisigOf(wallet) })],
  ['a multisig mode of a single key', 'undefined', 1, () => ({ changeAuthInfo: multiMode })],
  ['SIGN_MODE_TEXTUAL', 'sdk', 4, () => ({ mode: SignMode.SIGN_MODE_TEXTUAL })],
  ['SIGN_MODE_DIRECT_AUX', 'sdk', 4, () => ({ mode: SignMode.SIGN_MODE_DIRECT_AUX })],
  ['SIGN_MODE_UNSPECIFIED', 'sdk', 4, () => ({ mode: SignMode.SIGN_MODE_UNSPECIFIED })],
  ['a fee below the minimum gas price', 'sdk', 13, () => ({ fee: { amount: [{ ...FEE, amount: '4999' }] } })],
  ['a fee in another coin', 'sdk', 13, () => ({ fee: { amount: [{ denom: 'uusdc', amount: '5000000' }] } })],
  ['no fee', 'sdk', 13, () => ({ fee: { amount: [] } })],
  ['a fee coin twice', 'sdk', 13, () => ({ fee: { amount: [FEE, FEE] } })],
  ['a negative fee', 'sdk', 13, () => ({ fee: { amount: [{ ...FEE, amount: '-5000' }] } })],
  ['a fee that is no number', 'sdk', 2, () => ({ fee: { amount: [{ ...FEE, amount: '5e3' }] } })],
  [
    'a fee that the wallet does not hold',
    'sdk',
    5,
    () => ({ fee: { amount: [{ ...FEE, amount: '1000001' }] } }),
  ],
  ['a fee payer who did not sign', 'sdk', 4, () => ({ fee: { payer: thirdParty.address } })],
  ['a fee granter who granted nothing', 'sdk', 38, () => ({ fee: { granter: thirdParty.address } })],
  ['no gas', 'sdk', 11, () => ({ fee: { gasLimit: 0n } })],
  ['gas too little for the checks', 'sdk', 11, () => ({ fee: { gasLimit: 20_000n } })],
  ['gas past 63 bits', 'sdk', 18, () => ({ fee: { gasLimit: 2n ** 63n } })],
  ['a memo too long by one', 'sdk', 12, () => ({ body: { memo: 'm'.repeat(257) } })],
  ['a memo too long in bytes', 'sdk', 12, () => ({ body: { memo: 'é'.repeat(129) } })],
  ['a timeout height that is past', 'sdk', 30, () => ({ body: { timeoutHeight: 1n } })],
  [
    'a timeout time that is past',
    'sdk',
    42,
    () => ({ body: { timeoutTimestamp: timestampOf(Date.now() - 60_000) } }),
  ],
  [
    'an unordered transaction',
    'sdk',
    37,
    () => ({ body: { unordered: true, timeoutTimestamp: timestampOf(Date.now() + 60_000) } }),
  ],
  ['an extension option', 'sdk', 31, () => ({ body: { extensionOptions: [extension] } })],
  [
    'an extension option of no known type',
    'sdk',
    2,
    () => ({ body: { extensionOptions: [{ typeUrl: '/x.Y', value: new Uint8Array() }] } }),
  ],
  [
    'a message of no known type',
    'sdk',
    2,
    () => ({ messages: [Any.fromPartial({ typeUrl: '/ibc.applications.transfer.v1.MsgTransfer' })] }),
  ],
  ['no message', 'sdk', 18, () => ({ messages: [] })],
  [
    'a message of another wallet',
    'sdk',
    8,
    (wallet) => ({ messages: [sendMessage(developmentCosmosWallets[0]!.address, wallet.address, '1')] }),
  ],
  [
    'a sender of another prefix',
    'sdk',
    35,
    (wallet) => ({
      messages: [sendMessage(toBech32('osmo', fromBech32(wallet.address, 90).data), wallet.address, '1')],
    }),
  ],
  [
    'an amount that is no number',
    'sdk',
    2,
    (wallet) => ({ messages: [sendMessage(wallet.address, wallet.address, '1.5')] }),
  ],
  [
    'an amount past 256 bits',
    'sdk',
    2,
    (wallet) => ({ messages: [sendMessage(wallet.address, wallet.address, (2n ** 256n).toString())] }),
  ],
  ['an unknown field in the body', 'sdk', 2, () => ({ changeBodyBytes: appended(UNKNOWN) })],
  [
    'an unknown field in a message',
    'sdk',
    2,
    (wallet) => ({ messages: [withUnknown(sendMessage(wallet.address, wallet.address, '1'), UNKNOWN)] }),
  ],
  ['an unknown field in the auth info', 'sdk', 2, () => ({ changeAuthInfoBytes: appended(UNKNOWN) })],
  [
    'an unknown non-critical field in the auth info',
    'sdk',
    2,
    () => ({ changeAuthInfoBytes: appended(UNKNOWN_NON_CRITICAL) }),
  ],
  ['an unknown field in the transaction', 'sdk', 2, () => ({ changeBytes: appended(UNKNOWN) })],
  ['bytes after the transaction', 'sdk', 2, () => ({ changeBytes: appended([0]) })],
  ['a transaction cut short', 'sdk', 2, () => ({ changeBytes: (bytes) => bytes.slice(0, -1) })],
  ['the fields of the transaction out of order', 'sdk', 2, () => ({ changeBytes: outOfOrder })],
  ['a length written longer than need be', 'sdk', 2, () => ({ changeBytes: longLength })],
  ['a field of the wrong wire type', 'sdk', 2, () => ({ changeBodyBytes: appended([0x10, 1]) })],
]

const extension = { typeUrl: '/ethermint.types.v1.ExtensionOptionsWeb3Tx', value: new Uint8Array() }

export const aminoRefusals: readonly RefusalCase[] = [
  [
    'a signature of something else',
    'sdk',
    4,
    () => ({ changeSignature: (s) => s.map((b, i) => (i === 40 ? b ^ 1 : b)) }),
  ],
  ['a high-s signature', 'sdk', 4, () => ({ changeSignature: highS })],
  ['another chain id', 'sdk', 4, () => ({ signed: { chainId: 'cosmoshub-4' } })],
  ['another account number', 'sdk', 4, () => ({ signed: { accountNumber: 4_000_000n } })],
  ['another sequence signed than said', 'sdk', 4, () => ({ signed: { sequence: 7n } })],
  ['another memo signed than said', 'sdk', 4, () => ({ signed: { memo: 'other' } })],
  ['a sequence ahead', 'sdk', 32, () => ({ sequence: 1n })],
  [
    'a non-critical extension option',
    'sdk',
    4,
    () => ({ body: { nonCriticalExtensionOptions: [extension] } }),
  ],
  [
    'an unknown non-critical field in the body',
    'sdk',
    4,
    () => ({ changeBodyBytes: appended(UNKNOWN_NON_CRITICAL) }),
  ],
]

function replaceBody(memo: string) {
  return (raw: TxRaw) => ({
    ...raw,
    bodyBytes: appended([0x12, memo.length, ...Buffer.from(memo)])(raw.bodyBytes),
  })
}

function withUnknown({ typeUrl, value }: Any, more: number[]) {
  return Any.fromPartial({ typeUrl, value: appended(more)(value) })
}

function multisigOf({ publicKey }: Wallet) {
  const value = LegacyAminoPubKey.encode({ threshold: 1, publicKeys: [publicKey] }).finish()
  return Any.fromPartial({ typeUrl: '/cosmos.crypto.multisig.LegacyAminoPubKey', value })
}

function multiMode(authInfo: AuthInfo): AuthInfo {
  const [info] = authInfo.signerInfos
  const multi = { modeInfos: [{ single: { mode: SignMode.SIGN_MODE_DIRECT } }] }
  return AuthInfo.fromPartial({ ...authInfo, signerInfos: [{ ...info, modeInfo: { multi } }] })
}

function outOfOrder(bytes: Uint8Array) {
  const { bodyBytes, authInfoBytes, signatures } = TxRaw.decode(bytes)
  const part = (more: Partial<TxRaw>) => TxRaw.encode(TxRaw.fromPartial(more)).finish()
  return Uint8Array.from([...part({ authInfoBytes }), ...part({ bodyBytes }), ...part({ signatures })])
}

function longLength(bytes: Uint8Array) {
  const { bodyBytes, authInfoBytes, signatures } = TxRaw.decode(bytes)
  const rest = TxRaw.encode(TxRaw.fromPartial({ authInfoBytes, signatures })).finish()
  if (bodyBytes.length < 128) throw new Error('The body is too short for a length of two bytes')
  const { length } = bodyBytes
  return Uint8Array.from([0x0a, (length & 0x7f) | 0x80, (length >> 7) | 0x80, 0, ...bodyBytes, ...rest])
}
