import { randomBytes } from 'node:crypto'
import { encodeJson } from '@tollgate/protocol'
import { TxBody } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { readPayment } from './payment'
import { draftOf, payloadOf, sendOf, signTx, walletOf, type Draft } from '../../testing/transaction'

const wallet = walletOf(randomBytes(32))
const recipient = walletOf(randomBytes(32)).address
const draft = (changes: Partial<Draft> = {}) => draftOf(wallet.address, recipient, changes)
const payload = (changes: Partial<Draft> = {}) => payloadOf(wallet, draft(changes))
const withPayment = (changes: object) => ({ ...payload(), payment: { ...payload().payment, ...changes } })

test('reads a payment from an object, from base64 of its JSON and from base64url', () => {
  const given = payload()
  const tx = signTx(wallet, draft())
  for (const form of [given, encodeJson(given), Buffer.from(JSON.stringify(given)).toString('base64url')])
    expect(readPayment(form)).toMatchObject({
      payer: wallet.address,
      payTo: recipient,
      amount: 10_000n,
      nonce: 'sequence 3',
      transaction: { raw: Buffer.from(tx).toString('base64') },
      tx: { send: { from: wallet.address, to: recipient } },
      unsignedFields: {
        chainId: 'tollgate-devnet-1',
        amount: 10_000n,
        denom: 'uatom',
        payer: wallet.address,
        recipient,
      },
    })
})

test('payments of one payer with one sequence are one payment, whatever else differs', () => {
  const [one, other, later] = [payload(), payload({ memo: 'again' }), payload({ sequence: 4n })].map(
    readPayment,
  )
  expect(one?.transaction?.hash).not.toBe(other?.transaction?.hash)
  expect([one?.payer, one?.nonce]).toEqual([other?.payer, other?.nonce])
  expect(later?.nonce).not.toBe(one?.nonce)
})

test('the payer and the recipient are told in their canonical spelling', () => {
  const spelled = { payer: wallet.address.toUpperCase(), recipient: recipient.toUpperCase() }
  expect(readPayment(withPayment(spelled))).toMatchObject({
    payer: wallet.address,
    unsignedFields: { payer: wallet.address, recipient },
  })
})

test('a transaction that is not one send of one coin is read, with what is stated of it', () => {
  const none = readPayment(payload({ body: TxBody.fromPartial({ messages: [], memo: 'hello' }) }))
  const two = readPayment(
    payload({
      body: TxBody.fromPartial({ messages: [sendOf(draft()), sendOf(draft({ to: wallet.address }))] }),
    }),
  )
  const coins = [
    { denom: 'ibc/AB', amount: '1' },
    { denom: 'uatom', amount: '2' },
  ]
  for (const payment of [none, two, readPayment(payload({ coins }))])
    expect(payment).toMatchObject({ payTo: recipient, amount: payment?.unsignedFields.amount })
})

test.each<[string, object]>([
  ['any version', { version: '1.0' }],
  ['no version', { version: undefined }],
  ['a signature', { signature: Buffer.alloc(64).toString('base64') }],
  ['a null in place of what may be left out', { signature: null }],
  ['members that it does not know', { extra: { nested: [] } }],
])('takes %s', (_, changes) => {
  expect(readPayment({ ...payload(), ...changes })).toBeDefined()
})

test.each<[string, object]>([
  ['the fee as an amount', { fee: '5000' }],
  ['the fee as a coin', { fee: '5000uatom' }],
  ['the fee as wallets write it', { fee: { amount: [{ denom: 'uatom', amount: '5000' }], gas: '200000' } }],
  ['gas, sequence and account number as text', { gas: '200000', sequence: '3', accountNumber: '7' }],
  ['gas, sequence and account number as numbers', { gas: 200_000, sequence: 3, accountNumber: 7 }],
  ['a memo', { memo: 'hello' }],
  ['nulls', { fee: null, gas: null, memo: null, sequence: null, accountNumber: null }],
])('takes %s', (_, changes) => {
  expect(readPayment(withPayment(changes))).toBeDefined()
})

test.each<[string, unknown]>([
  ['nothing', undefined],
  ['a number', 7],
  ['no JSON', Buffer.from('hello').toString('base64')],
  ['JSON that is no base64', JSON.stringify(payload())],
  ['a list', [payload()]],
  ['the payment alone', payload().payment],
  ['no chain id', { ...payload(), chainId: undefined }],
  ['a chain id that is a number', { ...payload(), chainId: 1 }],
  ['a long chain id', { ...payload(), chainId: 'x'.repeat(65) }],
  ['a signature of 129 bytes', { ...payload(), signature: Buffer.alloc(129).toString('base64') }],
  ...Object.keys(payload().payment).map((member): [string, unknown] => [
    `no ${member}`,
    withPayment({ [member]: undefined }),
  ]),
  ...['1e4', '0x10', ' 10 ', '-0', '+5', '1.0', '010', '１０', '', '9'.repeat(79), 10_000].map(
    (amount): [string, unknown] => [`the amount ${JSON.stringify(amount)}`, withPayment({ amount })],
  ),
  ['a payer that is no address', withPayment({ payer: `${wallet.address.slice(0, -1)}x` })],
  ['a payer of another family', withPayment({ payer: `0x${'ab'.repeat(20)}` })],
  ['a recipient that is no address', withPayment({ recipient: 'cosmos1' })],
  ['a denomination that is none', withPayment({ denom: 'u atom' })],
  ['a transaction in hex', withPayment({ txBase64: `0x${Buffer.from('ab').toString('hex')}` })],
  ['a transaction that is none', withPayment({ txBase64: randomBytes(200).fill(255).toString('base64') })],
  ['a transaction of no bytes', withPayment({ txBase64: '' })],
  [
    'base64 with bits to spare',
    withPayment({ txBase64: payload().payment.txBase64.replace(/.{4}$/, 'AAF=') }),
  ],
  ['base64 without its padding', withPayment({ txBase64: 'CgI' })],
  ['base64 with a line break', withPayment({ txBase64: `${payload().payment.txBase64}\n` })],
  [
    'a transaction past 16 KiB',
    withPayment({ txBase64: payloadOf(wallet, draft({ memo: 'x'.repeat(16_384) })).payment.txBase64 }),
  ],
  ['a public key in hex', withPayment({ publicKey: Buffer.from(wallet.publicKey).toString('hex') })],
  ['a sequence past what a number holds', withPayment({ sequence: 2 ** 53 })],
  ['a sequence below zero', withPayment({ sequence: -1 })],
  ['a gas limit that is a fraction', withPayment({ gas: 1.5 })],
  ['a memo without end', withPayment({ memo: 'x'.repeat(5_000) })],
  ['a fee without end', withPayment({ fee: { amount: Array(9).fill({ denom: 'uatom', amount: '1' }) } })],
  ['a fee that is none', withPayment({ fee: 'uatom' })],
])('reads no payment from %s', (_, given) => {
  expect(readPayment(given)).toBeUndefined()
})
