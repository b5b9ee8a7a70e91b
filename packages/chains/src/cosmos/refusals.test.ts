import { MsgExec } from 'cosmjs-types/cosmos/authz/v1beta1/tx'
import { MsgMultiSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { LegacyAminoPubKey } from 'cosmjs-types/cosmos/crypto/multisig/keys'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { TxBody } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { MsgTransfer } from 'cosmjs-types/ibc/applications/transfer/v1/tx'
import { type Refusal } from '../family'
import { field, joined, sendOf, signTx, type TestWallet, walletOf } from './testing/transaction'
import {
  amino,
  anything,
  changed,
  coin,
  direct,
  feeOf,
  messages,
  openVerifying,
  other,
  packed,
  stating,
  signedOver,
  signerInfo,
  signers,
  underOsmo,
  unknown,
  type Verifying,
} from './testing/verifying'

let world: Verifying['world']
let payer: TestWallet
let refusal: Verifying['refusal']
let gasless: Verifying['gasless']
let close: Verifying['close']
beforeAll(async () => {
  ;({ world, payer, refusal, gasless, close } = await openVerifying())
})
afterAll(() => close())

/** What it is, why it is refused, and in what words. */
type Case = [string, Refusal['reason'], string, () => ReturnType<typeof refusal>]

describe('verify refuses, for any signer, what is', () => {
  test.each<Case>([
    [
      'said to be for another chain',
      'invalid_network',
      'another chain',
      () => refusal({}, { payload: (it) => ({ ...it, chainId: 'cosmoshub-4' }) }),
    ],
    [
      'of two messages',
      'invalid_payload',
      '2 messages',
      () => refusal(messages(sendOf(sends()), sendOf(sends()))),
    ],
    [
      'of another message behind the send',
      'invalid_payload',
      '2 messages',
      () => refusal(messages(sendOf(sends()), anything)),
    ],
    [
      'of no message',
      'invalid_payload',
      '0 messages',
      () => refusal({ body: TxBody.fromPartial({ memo: 'hello' }) }),
    ],
    [
      'a send within another message',
      'invalid_payload',
      'MsgExec',
      () =>
        refusal(
          messages(
            packed('/cosmos.authz.v1beta1.MsgExec', MsgExec, {
              grantee: payer.address,
              msgs: [sendOf(sends())],
            }),
          ),
        ),
    ],
    [
      'a send of many',
      'invalid_payload',
      'MsgMultiSend',
      () =>
        refusal(
          messages(
            packed('/cosmos.bank.v1beta1.MsgMultiSend', MsgMultiSend, {
              inputs: [{ address: payer.address, coins: [coin('10000')] }],
              outputs: [{ address: world.terms.payTo, coins: [coin('10000')] }],
            }),
          ),
        ),
    ],
    [
      'a transfer to another chain',
      'invalid_payload',
      'MsgTransfer',
      () =>
        refusal(
          messages(
            packed('/ibc.applications.transfer.v1.MsgTransfer', MsgTransfer, {
              ...MsgTransfer.fromPartial({ sender: payer.address, receiver: world.terms.payTo }),
              token: coin('10000'),
            }),
          ),
        ),
    ],
    [
      'of two coins',
      'invalid_payment',
      '2 coins',
      () => refusal({ coins: [coin('1', 'stake'), coin('10000')] }),
    ],
    ['of no coins', 'invalid_payment', '0 coins', () => refusal({ coins: [] })],
    [
      'of another denomination',
      'invalid_payment',
      'another asset',
      () => refusal({ coins: [coin('10000', 'stake')] }),
    ],
    [
      'one less',
      'invalid_payment',
      'the payer signed 0.009999 ATOM, and exactly 0.01 ATOM is required',
      () => refusal({ coins: [coin('9999')] }),
    ],
    [
      'one more',
      'invalid_payment',
      'the payer signed 0.010001 ATOM, and exactly 0.01 ATOM is required',
      () => refusal({ coins: [coin('10001')] }),
    ],
    [
      'ten thousand in hex',
      'invalid_payload',
      'not a plain bank send',
      () => refusal({ coins: [coin('0x2710')] }, { payload: stating({ amount: '10000' }) }),
    ],
    [
      'ten thousand with a zero before it',
      'invalid_payload',
      'not a plain bank send',
      () => refusal({ coins: [coin('023420')] }, { payload: stating({ amount: '10000' }) }),
    ],
    ['to another recipient', 'invalid_payment', 'another recipient', () => refusal({ to: other.address })],
    [
      'to the recipient’s bytes under another prefix',
      'invalid_payment',
      'another recipient',
      () => refusal({ to: underOsmo(world.terms.payTo) }),
    ],
    [
      'to the recipient in large letters',
      'invalid_payment',
      'another recipient',
      () => refusal({ to: world.terms.payTo.toUpperCase() }),
    ],
    [
      'from its payer to itself',
      'invalid_payment',
      'pays itself',
      () => refusal({ to: payer.address }, { terms: { payTo: payer.address } }),
    ],
    [
      'of somebody else’s money',
      'invalid_payload',
      'the sender is not the payer',
      () => refusal({ from: other.address }),
    ],
    [
      'said to be of another payer',
      'invalid_payload',
      'the sender is not the payer',
      () => refusal({}, { payload: stating({ payer: other.address }) }),
    ],
    [
      'from the payer’s bytes under another prefix',
      'invalid_payload',
      'not the payer’s',
      () =>
        refusal(
          { from: underOsmo(payer.address) },
          { payload: stating({ payer: underOsmo(payer.address) }) },
        ),
    ],
    [
      'from the payer in large letters',
      'invalid_payload',
      'the sender is not the payer',
      () => refusal({ from: payer.address.toUpperCase() }),
    ],
    [
      'of two signers',
      'invalid_payload',
      '2 signers',
      () => refusal(signers(signerInfo(payer), signerInfo(other))),
    ],
    ['of no signer', 'invalid_payload', '0 signers', () => refusal(signers())],
    [
      'signed under another’s public key',
      'invalid_payload',
      'not the payer’s',
      () => refusal(signers(signerInfo(other))),
    ],
    [
      'signed under no public key',
      'invalid_payload',
      'no public key',
      () => refusal(signers(signerInfo(payer, { publicKey: undefined }))),
    ],
    [
      'signed under a key of another kind with the same bytes',
      'invalid_payload',
      'not the payer’s',
      () =>
        refusal(
          signers(signerInfo(payer, { publicKey: walletOf(payer.privateKey, 'ethsecp256k1').publicKeyAny })),
        ),
    ],
    [
      'of a multisig',
      'invalid_payload',
      'no public key',
      () => {
        const key = LegacyAminoPubKey.fromPartial({ threshold: 1, publicKeys: [payer.publicKeyAny] })
        const publicKey = packed('/cosmos.crypto.multisig.LegacyAminoPubKey', LegacyAminoPubKey, key)
        const modeInfo = { multi: { modeInfos: [{ single: { mode: amino } }] } }
        return refusal(signers(signerInfo(payer, { publicKey, modeInfo })))
      },
    ],
    [
      'of a multisig that is said to be its payer’s key',
      'invalid_payload',
      'not signed as',
      () =>
        refusal(
          signers(signerInfo(payer, { modeInfo: { multi: { modeInfos: [{ single: { mode: direct } }] } } })),
        ),
    ],
    ...[
      SignMode.SIGN_MODE_UNSPECIFIED,
      SignMode.SIGN_MODE_TEXTUAL,
      SignMode.SIGN_MODE_DIRECT_AUX,
      SignMode.SIGN_MODE_EIP_191,
    ].map((mode): Case => [
      `signed in ${SignMode[mode]}`,
      'invalid_payload',
      'not signed as',
      () => refusal({ mode }),
    ]),
    [
      'not signed',
      'invalid_payload',
      'not one signature',
      () => refusal({}, { signed: changed(() => ({ signatures: [] })) }),
    ],
    [
      'signed twice',
      'invalid_payload',
      'not one signature',
      () => refusal({}, { signed: changed(({ signatures: [one] }) => ({ signatures: [one, one] })) }),
    ],
    [
      'signed with a byte more',
      'invalid_payload',
      'not one signature',
      () =>
        refusal(
          {},
          { signed: changed(({ signatures: [one] }) => ({ signatures: [joined(one!, Uint8Array.of(0))] })) },
        ),
    ],
    [
      'followed by a byte',
      'invalid_payload',
      'canonically',
      () => refusal({}, { signed: (...of) => joined(signTx(...of), Uint8Array.of(0)) }),
    ],
    [
      'with an unknown field beside the body',
      'invalid_payload',
      'canonically',
      () => refusal({}, { signed: (...of) => joined(signTx(...of), unknown) }),
    ],
    [
      'with an unknown field in the body',
      'invalid_payload',
      'canonically',
      () =>
        refusal({}, { signed: signedOver(({ bodyBytes }) => ({ bodyBytes: joined(bodyBytes, unknown) })) }),
    ],
    [
      'with an unknown field in the body that chains pass over',
      'invalid_payload',
      'canonically',
      () =>
        refusal(
          {},
          { signed: signedOver(({ bodyBytes }) => ({ bodyBytes: joined(bodyBytes, field(1024, unknown)) })) },
        ),
    ],
    [
      'with an unknown field among the signers',
      'invalid_payload',
      'canonically',
      () =>
        refusal(
          {},
          { signed: signedOver(({ authInfoBytes }) => ({ authInfoBytes: joined(authInfoBytes, unknown) })) },
        ),
    ],
    [
      'with an unknown field in the send',
      'invalid_payload',
      'not a plain bank send',
      () => {
        const { typeUrl, value } = sendOf(sends())
        return refusal(messages(Any.fromPartial({ typeUrl, value: joined(value, unknown) })))
      },
    ],
    [
      'with an extension option',
      'invalid_payload',
      'canonically',
      () =>
        refusal({
          body: TxBody.fromPartial({ ...messages(sendOf(sends())).body, extensionOptions: [anything] }),
        }),
    ],
    [
      'with an extension option that chains pass over',
      'invalid_payload',
      'canonically',
      () =>
        refusal({
          body: TxBody.fromPartial({
            ...messages(sendOf(sends())).body,
            nonCriticalExtensionOptions: [anything],
          }),
        }),
    ],
    [
      'unordered',
      'invalid_payload',
      'canonically',
      () => {
        const timeoutTimestamp = { seconds: BigInt(Math.floor(Date.now() / 1000) + 300), nanos: 0 }
        const body = { ...messages(sendOf(sends())).body, unordered: true, timeoutTimestamp }
        return refusal({ body: TxBody.fromPartial(body) })
      },
    ],
    [
      'with a timeout timestamp',
      'invalid_payload',
      'canonically',
      () => {
        const timeoutTimestamp = { seconds: BigInt(Math.floor(Date.now() / 1000) + 300), nanos: 0 }
        return refusal({ body: TxBody.fromPartial({ ...messages(sendOf(sends())).body, timeoutTimestamp }) })
      },
    ],
    [
      'with a tip',
      'invalid_payload',
      'canonically',
      () => {
        const tip = field(3, field(2, Buffer.from(other.address)))
        const signed = signedOver(({ authInfoBytes }) => ({ authInfoBytes: joined(authInfoBytes, tip) }))
        return refusal({}, { signed })
      },
    ],
    [
      'at another’s cost',
      'invalid_payload',
      'the fee payer is not the payer',
      () => refusal({ fee: feeOf({ payer: other.address }) }),
    ],
    [
      'granted by a stranger',
      'invalid_payload',
      'granter',
      () => refusal({ fee: feeOf({ granter: other.address }) }),
    ],
    [
      'granted by its payer',
      'invalid_payload',
      'granter',
      () => refusal({ fee: feeOf({ granter: payer.address }) }),
    ],
    [
      'granted by a third party if the facilitator pays no fees',
      'invalid_payload',
      'granter',
      () =>
        refusal(
          { fee: feeOf({ granter: other.address }) },
          { settings: { paysOwnFees: true, signerKeys: [] } },
        ),
    ],
    [
      'granted by us where payers bear their fees',
      'invalid_payload',
      'granter',
      () => refusal(gasless(), { settings: { paysOwnFees: true } }),
    ],
    [
      'granted by our signer above the cap',
      'invalid_payment',
      'a fee that the facilitator pays',
      () => refusal(gasless({ amount: [coin('6001')] })),
    ],
    [
      'granted by us for nothing',
      'invalid_payment',
      'a fee that the facilitator pays',
      () => refusal(gasless({ amount: [] })),
    ],
    [
      'granted by us in two coins',
      'invalid_payment',
      'a fee that the facilitator pays',
      () => refusal(gasless({ amount: [coin('1', 'stake'), coin('5000')] })),
    ],
    [
      'granted by us in another coin',
      'invalid_payment',
      'a fee that the facilitator pays',
      () => refusal(gasless({ amount: [coin('5000', 'stake')] })),
    ],
    [
      'granted by us at a fee that no node takes',
      'invalid_payment',
      'fee 4999uatom, this network asks 5000uatom',
      () => refusal(gasless({ amount: [coin('4999')] })),
    ],
    ['of no gas', 'invalid_payment', 'no gas', () => refusal({ fee: feeOf({ gas: 0n }) })],
    [
      'of gas past all need',
      'invalid_payment',
      'gas limit',
      () => refusal({ fee: feeOf({ gas: 1_200_001n, amount: [coin('40000')] }) }),
    ],
    [
      'at a fee that no node takes',
      'invalid_payment',
      'fee 4999uatom, this network asks 5000uatom',
      () => refusal({ fee: feeOf({ amount: [coin('4999')] }) }),
    ],
    [
      'at a fee in a coin of unknown value',
      'invalid_payment',
      'fee 0uatom, this network asks',
      () => refusal({ fee: feeOf({ amount: [coin('5000', 'stake')] }) }),
    ],
    [
      'at no fee',
      'invalid_payment',
      'fee 0uatom, this network asks',
      () => refusal({ fee: feeOf({ amount: [] }) }),
    ],
  ])('%s', async (_, reason, detail, ask) => {
    expect(await ask()).toMatchObject({ reason, detail: expect.stringContaining(detail) as string })
  })

  const sends = () => ({ from: payer.address, to: world.terms.payTo, coins: [coin('10000')] })

  const unsignedFields: [string, object][] = [
    ['amount', { amount: '9999' }],
    ['denomination', { denom: 'stake' }],
    ['recipient', { recipient: other.address }],
    ['public key', { publicKey: Buffer.from(other.publicKey).toString('base64') }],
    ['fee', { fee: '4999' }],
    ['fee’s coin', { fee: '5000stake' }],
    ['fee as wallets write it', { fee: { amount: [], gas: '200000' } }],
    ['fee’s gas', { fee: { amount: [coin('5000')], gas: '200001' } }],
    ['gas', { gas: 200_001 }],
    ['memo', { memo: 'x' }],
    ['sequence', { sequence: 17 }],
    ['account number', { accountNumber: '999999' }],
  ]
  test.each(unsignedFields)('said to have another %s', async (_, changes) => {
    expect(await refusal({}, { payload: stating(changes) })).toMatchObject({ reason: 'invalid_payload' })
  })

  test('said to have another signature', async () => {
    const signature = Buffer.alloc(64, 1).toString('base64')
    expect(await refusal({}, { payload: (it) => ({ ...it, signature }) })).toMatchObject({
      reason: 'invalid_payload',
    })
  })
})
