import { encodeSecp256k1Pubkey, pubkeyToAddress, serializeSignDoc } from '@cosmjs/amino'
import { encodePubkey } from '@cosmjs/proto-signing'
import { StargateClient } from '@cosmjs/stargate'
import { type VerifyResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { MsgExec } from 'cosmjs-types/cosmos/authz/v1beta1/tx'
import { MsgMultiSend, MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { MsgTransfer } from 'cosmjs-types/ibc/applications/transfer/v1/tx'
import {
  newCosmosWallet,
  signSend,
  cosmosRequestOf,
  COSMOS_AMOUNT,
  type CosmosRequest,
  type CosmosWallet,
} from '../testing/cosmos'
import {
  bytesOf,
  forge,
  toHighS,
  joined,
  NON_CRITICAL_FIELD,
  withUnsignedFields,
  txOf,
  UNKNOWN_FIELD,
  type Forgery,
} from '../testing/forged-cosmos'
import { onGaslessChain } from '../testing/gasless'

let harness: Awaited<ReturnType<typeof onGaslessChain>>
let chain: StargateClient
let payer: CosmosWallet
let otherWallet: CosmosWallet
let recipient: CosmosWallet
let payTo: string
beforeAll(async () => {
  harness = await onGaslessChain()
  chain = await StargateClient.connect(harness.rpcUrl)
  payer = await newCosmosWallet(harness.rpcUrl, 1_000_000n)
  otherWallet = await newCosmosWallet(harness.rpcUrl, 1_000_000n)
  recipient = await newCosmosWallet(harness.rpcUrl)
  payTo = recipient.address
})
afterAll(async () => {
  chain.disconnect()
  await closeAll()
})

/** Everything that a claim, a transaction, a grant or a transfer would change. */
const effects = async () => [
  await harness.count('settlements'),
  await harness.count('transactions'),
  await harness.grants(),
  await chain.getSequence(payer.address),
  await harness.balance(payer.address),
  await harness.balance(payTo),
]

/** Verify and settle refuse it for the same reason; nothing is claimed, sent, granted or paid. */
async function expectRefused(body: CosmosRequest, reason: string): Promise<void> {
  const before = await effects()
  expect(await harness.verify(body)).toMatchObject({ isValid: false, invalidReason: reason, payer: '' })
  expect(await harness.settle(body)).toMatchObject({
    success: false,
    errorReason: reason,
    transaction: '',
    payer: '',
    blockNumber: 0,
  })
  expect(await effects()).toEqual(before)
}

const forged = (forgery: Forgery = {}) => forge(harness.rpcUrl, payer, payTo, forgery)
const coin = (amount: string, denom = 'uatom') => ({ amount, denom })
const send = (changes: Partial<MsgSend> = {}): MsgSend => ({
  fromAddress: payer.address,
  toAddress: payTo,
  amount: [coin(`${COSMOS_AMOUNT}`)],
  ...changes,
})
const typeUrl = '/cosmos.bank.v1beta1.MsgSend'
const packedSend = () => Any.fromPartial({ typeUrl, value: MsgSend.encode(send()).finish() })
const sending = (changes: Partial<MsgSend>): Forgery => ({ messages: [{ typeUrl, value: send(changes) }] })
const saying = (message: Any): Forgery => ({
  say: ({ body }) => ({ body: { ...body, messages: [message] } }),
})
const inMode = (mode: SignMode): Forgery => ({
  say: ({ authInfo }) => ({
    authInfo: {
      ...authInfo,
      signerInfos: authInfo.signerInfos.map((info) => ({ ...info, modeInfo: { single: { mode } } })),
    },
  }),
})
const underOsmo = ({ publicKey }: CosmosWallet) => pubkeyToAddress(encodeSecp256k1Pubkey(publicKey), 'osmo')

test('the same payment without a forgery is valid', async () => {
  expect(await harness.verify(await forged())).toMatchObject({ isValid: true, payer: payer.address })
})

describe('what pays more, less or something else than one send is refused:', () => {
  test.each<[string, string, () => Forgery]>([
    [
      'a second message',
      'invalid_payload',
      () => ({ messages: [send(), send()].map((value) => ({ typeUrl, value })) }),
    ],
    [
      'MsgExec',
      'invalid_payload',
      () =>
        saying(
          Any.fromPartial({
            typeUrl: '/cosmos.authz.v1beta1.MsgExec',
            value: MsgExec.encode({ grantee: payer.address, msgs: [packedSend()] }).finish(),
          }),
        ),
    ],
    [
      'MsgMultiSend',
      'invalid_payload',
      () => {
        const coins = [coin(`${COSMOS_AMOUNT}`)]
        const value = { inputs: [{ address: payer.address, coins }], outputs: [{ address: payTo, coins }] }
        return {
          messages: [
            { typeUrl: '/cosmos.bank.v1beta1.MsgMultiSend', value: MsgMultiSend.fromPartial(value) },
          ],
        }
      },
    ],
    [
      'an IBC transfer',
      'invalid_payload',
      () => {
        const value = MsgTransfer.fromPartial({
          sourcePort: 'transfer',
          sourceChannel: 'channel-0',
          token: coin(`${COSMOS_AMOUNT}`),
          sender: payer.address,
          receiver: payTo,
        })
        return { messages: [{ typeUrl: '/ibc.applications.transfer.v1.MsgTransfer', value }] }
      },
    ],
    [
      'two coins',
      'invalid_payment',
      () => sending({ amount: [coin('1', 'stake'), coin(`${COSMOS_AMOUNT}`)] }),
    ],
    [
      'another denomination',
      'invalid_payment',
      () => sending({ amount: [coin(`${COSMOS_AMOUNT}`, 'stake')] }),
    ],
    ['one less', 'invalid_payment', () => sending({ amount: [coin('9999')] })],
    ['one more', 'invalid_payment', () => sending({ amount: [coin('10001')] })],
    ['an amount that chains read as less', 'invalid_payload', () => sending({ amount: [coin('010000')] })],
    ['another recipient', 'invalid_payment', () => sending({ toAddress: otherWallet.address })],
    [
      'the recipient under another prefix',
      'invalid_payment',
      () => sending({ toAddress: underOsmo(recipient) }),
    ],
  ])('%s', async (_, reason, forgery) => {
    await expectRefused(await forged(forgery()), reason)
  })
})

describe('what another than the payer signed, or for something else, is refused:', () => {
  test.each<[string, () => Forgery]>([
    ['another chain’s id', () => ({ chainId: 'cosmoshub-4' })],
    ['another account’s number', () => ({ accountNumber: 4711 })],
    ['another key', () => ({ signedBy: otherWallet })],
    ['the high-s form', () => ({ after: ({ signatures: [one] }) => ({ signatures: [toHighS(one!)] }) })],
    ['two signatures', () => ({ after: ({ signatures: [one] }) => ({ signatures: [one!, one!] }) })],
    ['no signature', () => ({ after: () => ({ signatures: [] }) })],
    ['SIGN_MODE_UNSPECIFIED', () => inMode(SignMode.SIGN_MODE_UNSPECIFIED)],
    ['SIGN_MODE_TEXTUAL', () => inMode(SignMode.SIGN_MODE_TEXTUAL)],
    ['a signature of DIRECT that says it is amino', () => inMode(SignMode.SIGN_MODE_LEGACY_AMINO_JSON)],
    [
      'a multisig',
      () => ({
        say({ authInfo }) {
          const keys = [payer, otherWallet].map(({ publicKey }) => ({
            type: 'tendermint/PubKeySecp256k1',
            value: Buffer.from(publicKey).toString('base64'),
          }))
          const publicKey = encodePubkey({
            type: 'tendermint/PubKeyMultisigThreshold',
            value: { threshold: '1', pubkeys: keys },
          })
          const [info] = authInfo.signerInfos
          return { authInfo: { ...authInfo, signerInfos: [{ ...info!, publicKey }] } }
        },
      }),
    ],
    [
      'another’s public key',
      () => ({
        say({ authInfo }) {
          const publicKey = encodePubkey(encodeSecp256k1Pubkey(otherWallet.publicKey))
          const [info] = authInfo.signerInfos
          return { authInfo: { ...authInfo, signerInfos: [{ ...info!, publicKey }] } }
        },
        signedBy: otherWallet,
      }),
    ],
  ])('%s', async (_, forgery) => {
    await expectRefused(await forged(forgery()), 'invalid_payload')
  })

  test('another sequence than the account’s', async () => {
    await expectRefused(await forged({ sequence: 1 }), 'invalid_transaction_state')
  })

  test('another sequence than it says', async () => {
    const honest = await forged()
    const later = await forged({ sequence: 1 })
    const spliced = await forged({
      after: () => ({ signatures: [signatureIn(later)] }),
    })
    expect(signatureIn(honest)).not.toEqual(signatureIn(later))
    await expectRefused(spliced, 'invalid_payload')
  })

  test('another’s money, and one’s own under another prefix', async () => {
    await expectRefused(await forged(sending({ fromAddress: otherWallet.address })), 'invalid_payload')
    const osmo = underOsmo(payer)
    await expectRefused(await forged(sending({ fromAddress: osmo })), 'invalid_payload')
  })

  test('a payment that says it is another payer’s, or under another key', async () => {
    await expectRefused(withUnsignedFields(await forged(), { payer: otherWallet.address }), 'invalid_payload')
    const publicKey = Buffer.from(otherWallet.publicKey).toString('base64')
    await expectRefused(withUnsignedFields(await forged(), { publicKey }), 'invalid_payload')
  })

  test('a sign-in by ADR-036, also one over the very bytes that a payment signs', async () => {
    const amino = await newCosmosWallet(harness.rpcUrl, 1_000_000n, 'amino')
    const tx = await signSend(harness.rpcUrl, amino, payTo)
    if (!('signAmino' in amino.signer)) throw new Error('The wallet does not sign in amino')
    const { accountNumber, sequence } = await chain.getSequence(amino.address)
    const paymentDoc = serializeSignDoc({
      chain_id: await chain.getChainId(),
      account_number: `${accountNumber}`,
      sequence: `${sequence}`,
      fee: { amount: [coin('5000')], gas: '200000' },
      msgs: [
        {
          type: 'cosmos-sdk/MsgSend',
          value: { from_address: amino.address, to_address: payTo, amount: [coin(`${COSMOS_AMOUNT}`)] },
        },
      ],
      memo: '',
    })
    for (const said of [Buffer.from('shop.example wants you to sign in.'), paymentDoc]) {
      const data = Buffer.from(said).toString('base64')
      const { signature } = await amino.signer.signAmino(amino.address, {
        chain_id: '',
        account_number: '0',
        sequence: '0',
        fee: { gas: '0', amount: [] },
        msgs: [{ type: 'sign/MsgSignData', value: { signer: amino.address, data } }],
        memo: '',
      })
      const body = cosmosRequestOf(amino, withSignature(tx, signature.signature), {
        payTo,
        amount: COSMOS_AMOUNT,
      })
      await expectRefused(body, 'invalid_payload')
    }
    const honest = cosmosRequestOf(amino, tx, { payTo, amount: COSMOS_AMOUNT })
    expect(await harness.verify(honest)).toMatchObject({ isValid: true })
  })
})

describe('what is not plainly a send at its payer’s cost, or ours, is refused:', () => {
  const anything = () => Any.fromPartial({ typeUrl: '/a.B' })
  test.each<[string, string, () => Forgery | Promise<Forgery>]>([
    ['the fee granter of another wallet', 'invalid_payload', () => ({ granter: otherWallet.address })],
    ['the fee payer of another wallet', 'invalid_payload', () => ({ fee: { payer: otherWallet.address } })],
    [
      'our allowance past its cap',
      'invalid_payment',
      () => ({ granter: harness.granter.address, fee: { amount: [coin('10001')] } }),
    ],
    ['a fee below what nodes take', 'invalid_payment', () => ({ fee: { amount: [coin('4999')] } })],
    ['no gas', 'invalid_payment', () => ({ fee: { gas: '0' } })],
    ['gas past all need', 'invalid_payment', () => ({ fee: { gas: '10000000', amount: [coin('250000')] } })],
    ['too little gas', 'invalid_payment', () => ({ fee: { gas: '20000' } })],
    ['a memo of 257 bytes', 'invalid_payment', () => ({ memo: 'x'.repeat(257) })],
    ['a timeout height that passed', 'payment_expired', () => ({ timeoutHeight: 1n })],
    [
      'a timeout height that is about to',
      'payment_expired',
      async () => ({ timeoutHeight: BigInt((await chain.getHeight()) + 2) }),
    ],
    ['a byte more', 'invalid_payload', () => ({ after: (tx) => joined(encoded(tx), Uint8Array.of(0)) })],
    ['an unknown field', 'invalid_payload', () => ({ after: (tx) => joined(encoded(tx), UNKNOWN_FIELD) })],
    [
      'an unknown field of the body',
      'invalid_payload',
      () => ({ say: ({ bodyBytes }) => ({ bodyBytes: joined(bodyBytes, UNKNOWN_FIELD) }) }),
    ],
    [
      'a field of the body that chains pass over',
      'invalid_payload',
      () => ({ say: ({ bodyBytes }) => ({ bodyBytes: joined(bodyBytes, NON_CRITICAL_FIELD) }) }),
    ],
    [
      'an unknown field of the signers',
      'invalid_payload',
      () => ({ say: ({ authInfoBytes }) => ({ authInfoBytes: joined(authInfoBytes, UNKNOWN_FIELD) }) }),
    ],
    [
      'an unknown field of the send',
      'invalid_payload',
      () => saying(Any.fromPartial({ typeUrl, value: joined(packedSend().value, UNKNOWN_FIELD) })),
    ],
    [
      'an extension option',
      'invalid_payload',
      () => ({ say: ({ body }) => ({ body: { ...body, extensionOptions: [anything()] } }) }),
    ],
    [
      'an extension option that chains pass over',
      'invalid_payload',
      () => ({ say: ({ body }) => ({ body: { ...body, nonCriticalExtensionOptions: [anything()] } }) }),
    ],
    [
      'a timeout timestamp',
      'invalid_payload',
      () => ({
        say: ({ body }) => ({ body: { ...body, timeoutTimestamp: { seconds: 4_000_000_000n, nanos: 0 } } }),
      }),
    ],
    ['no order', 'invalid_payload', () => ({ say: ({ body }) => ({ body: { ...body, unordered: true } }) })],
  ])('%s', async (_, reason, forgery) => {
    await expectRefused(await forged(await forgery()), reason)
  })
})

describe('what does not fit its terms, or its payer’s account, is refused:', () => {
  const requiring = async (changes: Partial<CosmosRequest['paymentRequirements']>, body?: CosmosRequest) => {
    const changed = structuredClone(body ?? (await forged()))
    Object.assign(changed.paymentRequirements, changes)
    return changed
  }

  test('another chain in its payload, and another network in its requirements', async () => {
    const elsewhere = structuredClone(await forged())
    elsewhere.paymentPayload.payload.chainId = 'cosmoshub-4'
    await expectRefused(elsewhere, 'invalid_network')
    await expectRefused(await requiring({ network: 'base-sepolia' }), 'invalid_network')
  })

  test('another price, recipient or asset than is required', async () => {
    await expectRefused(await requiring({ maxAmountRequired: '10001' }), 'invalid_payment')
    await expectRefused(await requiring({ payTo: otherWallet.address }), 'invalid_payment')
    await expectRefused(await requiring({ asset: 'stake' }), 'invalid_payment_requirements')
  })

  test('another price or recipient than a payer of x402 version 2 says that it accepted', async () => {
    const { paymentPayload, paymentRequirements } = await forged()
    const { maxAmountRequired: amount, scheme, network, asset, maxTimeoutSeconds } = paymentRequirements
    const required = { scheme, network, amount, asset, payTo, maxTimeoutSeconds }
    const verdictOn = async (accepted: object) => {
      const payload = { x402Version: 2, accepted, payload: paymentPayload.payload }
      const body = { x402Version: 2, paymentPayload: payload, paymentRequirements: required }
      const answer = await harness.facilitator.api
        .post('/api/v2/verify')
        .set(harness.client)
        .send(body)
        .expect(200)
      return (answer.body as VerifyResult).invalidReason
    }
    expect(await verdictOn(required)).toBe('')
    expect(await verdictOn({ ...required, amount: '10001' })).toBe('invalid_payment')
    expect(await verdictOn({ ...required, payTo: otherWallet.address })).toBe('invalid_payment')
  })

  test('terms that pay our signer, the zero address or an address of another chain', async () => {
    await expectRefused(await requiring({ payTo: harness.granter.address }), 'invalid_payment_requirements')
    await expectRefused(await requiring({ payTo: underOsmo(recipient) }), 'invalid_payment_requirements')
    await expectRefused(await requiring({ payTo: `0x${'ab'.repeat(20)}` }), 'invalid_payment_requirements')
    await expectRefused(await requiring({ maxAmountRequired: '0' }), 'invalid_payment_requirements')
  })

  test('a payer that pays itself', async () => {
    const body = await forge(harness.rpcUrl, payer, payer.address)
    await expectRefused(body, 'invalid_payment')
  })

  test('a payer without the money, also if it has the price and not the fee', async () => {
    const poor = await newCosmosWallet(harness.rpcUrl, 14_999n)
    await expectRefused(await forge(harness.rpcUrl, poor, payTo), 'insufficient_funds')
  })
})

const encoded = (tx: TxRaw) => TxRaw.encode(tx).finish()
const signatureIn = (body: CosmosRequest) => TxRaw.decode(txOf(body)).signatures[0]!
const withSignature = (tx: Uint8Array, signature: string) =>
  encoded({ ...TxRaw.decode(tx), signatures: [bytesOf(signature)] })
