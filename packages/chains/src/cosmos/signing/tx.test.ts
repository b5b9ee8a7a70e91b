import { createHash, randomBytes } from 'node:crypto'
import { DirectSecp256k1Wallet, encodePubkey, makeAuthInfoBytes, makeSignDoc } from '@cosmjs/proto-signing'
import { encodeSecp256k1Pubkey } from '@cosmjs/amino'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import {
  draftOf,
  encodeDraft,
  field,
  joined,
  sendOf,
  signTx,
  walletOf,
  type Draft,
} from '../testing/transaction'
import { decodeTx } from './tx'

const wallet = walletOf(randomBytes(32))
const recipient = walletOf(randomBytes(32)).address
const draft = (changes: Partial<Draft> = {}) => draftOf(wallet.address, recipient, changes)
const anything = Any.fromPartial({ typeUrl: '/a.B', value: Uint8Array.of(8, 1) })

test('reads what a transaction of a wallet says', async () => {
  const direct = await DirectSecp256k1Wallet.fromKey(wallet.privateKey)
  const [account] = await direct.getAccounts()
  const bodyBytes = TxBody.encode(
    TxBody.fromPartial({ messages: [sendOf(draft())], memo: 'hello', timeoutHeight: 99n }),
  ).finish()
  const pubkey = encodePubkey(encodeSecp256k1Pubkey(account!.pubkey))
  const fee = [{ denom: 'uatom', amount: '5000' }]
  const authInfoBytes = makeAuthInfoBytes([{ pubkey, sequence: 3 }], fee, 200_000, recipient, undefined)
  const signDoc = makeSignDoc(bodyBytes, authInfoBytes, 'cosmoshub-4', 7)
  const { signature } = await direct.signDirect(account!.address, signDoc)
  const signatures = [Buffer.from(signature.signature, 'base64')]
  const bytes = TxRaw.encode({ bodyBytes, authInfoBytes, signatures }).finish()
  expect(decodeTx(bytes)).toMatchObject({
    hash: createHash('sha256').update(bytes).digest('hex').toUpperCase(),
    send: { from: wallet.address, to: recipient, coins: [{ denom: 'uatom', amount: 10_000n }] },
    memo: 'hello',
    timeoutHeight: 99n,
    isCanonical: true,
    signers: [{ publicKey: { type: 'secp256k1', bytes: wallet.publicKey }, mode: 'direct', sequence: 3n }],
    fee: { coins: [{ denom: 'uatom', amount: 5_000n }], gas: 200_000n, payer: '', granter: recipient },
  })
})

test('reads the kind of the key, and the mode of the signature where it is one of a single key', () => {
  const evmWallet = walletOf(randomBytes(32), 'ethsecp256k1')
  const mode = SignMode.SIGN_MODE_LEGACY_AMINO_JSON
  const tx = decodeTx(signTx(evmWallet, draftOf(evmWallet.address, recipient, { mode })))
  expect(tx?.signers).toMatchObject([{ publicKey: { type: 'ethsecp256k1' }, mode: 'amino' }])

  const signerOf = (info: object) =>
    decodeTx(signTx(wallet, draft({ authInfo: AuthInfo.fromPartial({ signerInfos: [info] }) })))?.signers[0]
  for (const other of [
    SignMode.SIGN_MODE_UNSPECIFIED,
    SignMode.SIGN_MODE_TEXTUAL,
    SignMode.SIGN_MODE_DIRECT_AUX,
    SignMode.SIGN_MODE_EIP_191,
    SignMode.UNRECOGNIZED,
  ])
    expect(signerOf({ modeInfo: { single: { mode: other } } })).toMatchObject({ mode: undefined })
  const single = { mode: SignMode.SIGN_MODE_DIRECT }
  expect(signerOf({})).toEqual({ publicKey: undefined, mode: undefined, sequence: 0n })
  expect(signerOf({ modeInfo: { multi: { modeInfos: [{ single }] } } })).toMatchObject({ mode: undefined })
  expect(signerOf({ modeInfo: { single, multi: { modeInfos: [] } } })).toMatchObject({ mode: undefined })
})

describe('a transaction is canonical, and a send is one, only where nothing is said twice, otherwise or beside it:', () => {
  const { bodyBytes, authInfoBytes } = encodeDraft(wallet, draft())
  const signature = randomBytes(64)
  const raw = (body = bodyBytes, authInfo = authInfoBytes) =>
    TxRaw.encode({ bodyBytes: body, authInfoBytes: authInfo, signatures: [signature] }).finish()
  const unknown = field(99, Uint8Array.of(1))
  const ofMessage = (value: Uint8Array) =>
    raw(
      TxBody.encode(
        TxBody.fromPartial({ messages: [{ typeUrl: '/cosmos.bank.v1beta1.MsgSend', value }] }),
      ).finish(),
    )
  const send = sendOf(draft()).value
  const body = (changes: Partial<TxBody>) => signTx(wallet, draft({ body: changes }))
  const authInfo = (changes: object) =>
    signTx(
      wallet,
      draft({ authInfo: AuthInfo.fromPartial({ ...AuthInfo.decode(authInfoBytes), ...changes }) }),
    )
  const feeOf = (amount: string) =>
    signTx(wallet, draft({ fee: { ...draft().fee, amount: [{ denom: 'uatom', amount }] } }))
  const paying = (amount: string) => signTx(wallet, draft({ coins: [{ denom: 'uatom', amount }] }))
  const utf8 = (text: string) => new Uint8Array(Buffer.from(text))
  const replaced = (bytes: Uint8Array, from: Uint8Array, to: Uint8Array) => {
    const at = Buffer.from(bytes).indexOf(from)
    expect(at).toBeGreaterThan(0)
    return joined(bytes.subarray(0, at), to, bytes.subarray(at + from.length))
  }

  const isPlain = (bytes: Uint8Array) => {
    const tx = decodeTx(bytes)
    return tx?.isCanonical === true && tx.send !== undefined
  }

  test('as it is', () => {
    expect(isPlain(raw())).toBe(true)
    expect(isPlain(ofMessage(send))).toBe(true)
  })

  test.each<[string, Uint8Array]>([
    ['an unknown field of the transaction', joined(raw(), unknown)],
    ['a zero byte at the end', joined(raw(), Uint8Array.of(0))],
    ['bytes at the end that begin no field', joined(raw(), Uint8Array.of(0x1a, 0x40, 1, 2, 3))],
    ['a second body', joined(raw(), field(1, bodyBytes))],
    ['parts in another order', joined(field(2, authInfoBytes), field(1, bodyBytes), field(3, signature))],
    [
      'a length in more bytes than it needs',
      replaced(raw(), Uint8Array.of(0x1a, 64), Uint8Array.of(0x1a, 0xc0, 0)),
    ],
    ['an unknown field of the body', raw(joined(bodyBytes, unknown))],
    ['an unknown field of the body that chains pass over', raw(joined(bodyBytes, field(1024, unknown)))],
    ['a memo that is written though it is empty', raw(joined(bodyBytes, field(2, utf8(''))))],
    ['a memo before the message', raw(joined(field(2, utf8('hello')), bodyBytes))],
    ['a memo that is no text', raw(joined(bodyBytes, field(2, Uint8Array.of(0xff, 0xfe))))],
    ['half a character in the memo', raw(joined(bodyBytes, field(2, Uint8Array.of(0xed, 0xa0, 0x80))))],
    ['a timeout height of zero', raw(joined(bodyBytes, field(3, 0)))],
    ['an extension option', body({ extensionOptions: [anything] })],
    ['an extension option that chains pass over', body({ nonCriticalExtensionOptions: [anything] })],
    ['that it is unordered', body({ unordered: true })],
    ['a timeout timestamp', body({ timeoutTimestamp: { seconds: 2_000_000_000n, nanos: 0 } })],
    ['an unknown field of the signers', raw(bodyBytes, joined(authInfoBytes, unknown))],
    ['a tip', authInfo({ tip: { amount: [], tipper: recipient } })],
    ['a second fee', raw(bodyBytes, joined(authInfoBytes, field(2, field(2, 1))))],
    ['a signer after the fee', raw(bodyBytes, joined(authInfoBytes, field(1, field(3, 1))))],
    ['a fee in hex', feeOf('0x1388')],
    ['a fee with a leading zero', feeOf('05000')],
    ['an unknown field of the message', ofMessage(joined(send, unknown))],
    ['a second recipient', ofMessage(joined(send, field(2, utf8(wallet.address))))],
    ['an unknown field of the coin', ofMessage(joined(send, field(3, joined(field(1, utf8('a')), unknown))))],
    ['an amount in hex', paying('0x2710')],
    ['an amount with a leading zero', paying('010000')],
    ['an amount with a sign', paying('+10000')],
    ['an amount below zero', paying('-10000')],
    ['an amount of more digits than any chain counts', paying('1'.repeat(79))],
    ['another message', body({ messages: [anything] })],
    [
      'the name of another server before the message’s type',
      body({
        messages: [{ ...sendOf(draft()), typeUrl: 'type.example/cosmos.bank.v1beta1.MsgSend' }],
      }),
    ],
    ['a second message', body({ messages: [sendOf(draft()), sendOf(draft())] })],
    ['no message', body({ messages: [], memo: 'hello' })],
  ])('%s', (_, bytes) => {
    expect(bytes).not.toEqual(raw())
    expect(decodeTx(bytes)).toBeDefined()
    expect(isPlain(bytes)).toBe(false)
  })

  test('an unknown field in the key', () => {
    const key = { ...wallet.publicKeyAny, value: joined(wallet.publicKeyAny.value, unknown) }
    const signerInfos = [
      { publicKey: key, modeInfo: { single: { mode: SignMode.SIGN_MODE_DIRECT } }, sequence: 3n },
    ]
    expect(decodeTx(authInfo({ signerInfos }))?.signers[0]?.publicKey).toBeUndefined()
  })
})

test('what is no transaction is not read, and costs no more than its bytes', () => {
  const whole = signTx(wallet, draft())
  const nested = (levels: number) => {
    let info = field(1, field(1, 1))
    for (let level = 0; level < levels; level++) info = field(2, field(2, info))
    return TxRaw.encode({
      bodyBytes: new Uint8Array(),
      authInfoBytes: field(1, field(2, info)),
      signatures: [],
    }).finish()
  }
  const { bodyBytes } = encodeDraft(wallet, draft())
  expect(decodeTx(field(1, bodyBytes))).toBeUndefined()
  expect(decodeTx(new Uint8Array())).toBeUndefined()
  expect(decodeTx(Uint8Array.of(0xff))).toBeUndefined()
  expect(decodeTx(utf8Of('{"body":{}}'))).toBeUndefined()
  expect(decodeTx(field(1, Uint8Array.of(0x0a, 0xff)))).toBeUndefined()
  expect(() => decodeTx(nested(2_000))).not.toThrow()
  for (let length = 0; length < whole.length; length++)
    expect(decodeTx(whole.subarray(0, length))?.signatures ?? []).toEqual([])
  for (let round = 0; round < 2_000; round++) {
    const spoiled = Uint8Array.from(whole)
    spoiled.set(randomBytes(3), Math.floor(Math.random() * (whole.length - 3)))
    expect(() => decodeTx(spoiled)).not.toThrow()
    expect(() => decodeTx(randomBytes(200))).not.toThrow()
  }
})

const utf8Of = (text: string) => new Uint8Array(Buffer.from(text))
