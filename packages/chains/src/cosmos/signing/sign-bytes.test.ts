import { randomBytes } from 'node:crypto'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { TxBody } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { isSignedBy } from './public-key'
import { signBytesOf } from './sign-bytes'
import {
  draftOf,
  encodeDraft,
  field,
  joined,
  sendOf,
  signBytesFor,
  signTx,
  walletOf,
  type Draft,
} from '../testing/transaction'
import { decodeTx } from './tx'

const amino = SignMode.SIGN_MODE_LEGACY_AMINO_JSON
const wallet = walletOf(randomBytes(32))
const recipient = walletOf(randomBytes(32)).address
const draft = (changes: Partial<Draft> = {}) => draftOf(wallet.address, recipient, changes)
const read = (changes: Partial<Draft> = {}) => decodeTx(signTx(wallet, draft(changes)))!
const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()

const changes: [string, Partial<Draft>][] = [
  ['as it is', {}],
  ['with a memo', { memo: 'a & b <c> "d" \\ é 中 😀' }],
  ['with a timeout height', { timeoutHeight: 123_456n }],
  ['with a fee granter', { fee: { ...draft().fee, granter: recipient } }],
  ['with a fee payer', { fee: { ...draft().fee, payer: wallet.address } }],
  ['with no fee', { fee: { ...draft().fee, amount: [] } }],
  [
    'with two coins',
    {
      coins: [
        { denom: 'ibc/AB', amount: '1' },
        { denom: 'uatom', amount: '2' },
      ],
    },
  ],
  ['the first of its account', { sequence: 0n, accountNumber: 0n }],
  ['of an account with a large number', { accountNumber: 18_446_744_073_709_551_615n }],
]

describe.each([
  ['DIRECT', SignMode.SIGN_MODE_DIRECT],
  ['LEGACY_AMINO_JSON', amino],
])('the sign bytes of %s are those that wallets sign, of a transaction', (_, mode) => {
  test.each(changes)('%s', (_, given) => {
    const asked = draft({ ...given, mode })
    const bytes = signBytesOf(read(asked), asked)
    expect(text(bytes)).toBe(text(signBytesFor(asked, encodeDraft(wallet, asked))))
  })

  test('for one chain, account and sequence, and no other', () => {
    const asked = draft({ mode })
    const tx = read(asked)
    const [signature] = tx.signatures
    const isFor = (place: { chainId?: string; accountNumber?: bigint }, of = tx) =>
      isSignedBy(tx.signers[0]!.publicKey!, signBytesOf(of, { ...asked, ...place })!, signature!)
    expect(isFor({})).toBe(true)
    expect(isFor({ chainId: 'cosmoshub-4' })).toBe(false)
    expect(isFor({ accountNumber: asked.accountNumber + 1n })).toBe(false)
    expect(isFor({}, read({ mode, sequence: asked.sequence + 1n }))).toBe(false)
  })
})

test('the amino document names everything, sorted and escaped as chains write it', () => {
  const fee = { ...draft().fee, payer: wallet.address, granter: recipient }
  const asked = draft({ mode: amino, memo: '<&>', timeoutHeight: 5n, fee })
  expect(text(signBytesOf(read(asked), { chainId: 'cosmoshub-4', accountNumber: 7n }))).toBe(
    '{"account_number":"7","chain_id":"cosmoshub-4",' +
      `"fee":{"amount":[{"amount":"5000","denom":"uatom"}],"gas":"200000","granter":"${recipient}","payer":"${wallet.address}"},` +
      '"memo":"\\u003c\\u0026\\u003e","msgs":[{"type":"cosmos-sdk/MsgSend","value":' +
      `{"amount":[{"amount":"10000","denom":"uatom"}],"from_address":"${wallet.address}","to_address":"${recipient}"}}],` +
      '"sequence":"3","timeout_height":"5"}',
  )
})

describe('there are no sign bytes', () => {
  const place = { chainId: 'cosmoshub-4', accountNumber: 7n }

  test.each([
    ['SIGN_MODE_UNSPECIFIED', SignMode.SIGN_MODE_UNSPECIFIED],
    ['SIGN_MODE_TEXTUAL', SignMode.SIGN_MODE_TEXTUAL],
    ['SIGN_MODE_DIRECT_AUX', SignMode.SIGN_MODE_DIRECT_AUX],
    ['SIGN_MODE_EIP_191', SignMode.SIGN_MODE_EIP_191],
  ])('of %s', (_, mode) => {
    expect(signBytesOf(read({ mode }), place)).toBeUndefined()
  })

  test('of an amino transaction with another message, or with two', () => {
    const messages = [sendOf(draft()), sendOf(draft())]
    expect(signBytesOf(read({ mode: amino, body: TxBody.fromPartial({ messages }) }), place)).toBeUndefined()
    const odd = { ...sendOf(draft()), value: joined(sendOf(draft()).value, field(9, 1)) }
    expect(
      signBytesOf(read({ mode: amino, body: TxBody.fromPartial({ messages: [odd] }) }), place),
    ).toBeUndefined()
  })

  test.each(['\b', '\f', '\u2028', '\u2029'])(
    'of an amino transaction whose memo has %j, which chains escape in their own way',
    (memo) => {
      expect(signBytesOf(read({ mode: amino, memo }), place)).toBeUndefined()
      expect(signBytesOf(read({ memo }), place)).toBeDefined()
    },
  )

  test('of an amino transaction whose sequence is past what JSON holds exactly', () => {
    const asked = draft({ mode: amino })
    const tx = read(asked)
    const late = { ...tx, signers: [{ ...tx.signers[0]!, sequence: 2n ** 53n }] }
    expect(signBytesOf(late, asked)).toBeUndefined()
  })
})
