import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll } from '@tollgate/testing'
import { AbiCoder, Wallet, ZeroAddress, type BaseWallet } from 'ethers'
import { callRpc, newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { signInDomain, malleatedForms, walletForms, withSignature } from '../testing/hostile'
import { AMOUNT, inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let harness: FacilitatorWithClient
beforeAll(async () => (harness = await facilitatorWithClient()))
afterAll(closeAll)

const other = Wallet.createRandom()
const years = 10 * 365 * 86_400

type Authorization = PaymentRequest['paymentPayload']['payload']['authorization']
type Forge = (payer: BaseWallet, signer: string) => Promise<PaymentRequest>
const authorizing =
  (authorization: Partial<Authorization>): Forge =>
  (payer) =>
    paymentRequest(payer, { authorization })
const payingTo =
  (payTo: (payer: BaseWallet, signer: string) => string): Forge =>
  (payer, signer) =>
    paymentRequest(payer, { requirements: { payTo: payTo(payer, signer) } })
const signedIn =
  (domain: object): Forge =>
  async (payer) =>
    signInDomain(payer, await paymentRequest(payer), domain)
const signatureAs =
  (form: (signature: string) => string): Forge =>
  async (payer) => {
    const body = await paymentRequest(payer)
    return withSignature(body, form(body.paymentPayload.payload.signature))
  }
/** Requirements that differ from the signed payment. */
const demanding =
  (changes: Partial<PaymentRequest['paymentRequirements']>): Forge =>
  async (payer) => {
    const body = await paymentRequest(payer)
    return { ...body, paymentRequirements: { ...body.paymentRequirements, ...changes } }
  }

const SIGNATURE = 'invalid_exact_evm_payload_signature'
const VALUE = 'invalid_exact_evm_payload_authorization_value'
const BEFORE = 'invalid_exact_evm_payload_authorization_valid_before'
const AFTER = 'invalid_exact_evm_payload_authorization_valid_after'
const RECIPIENT = 'invalid_exact_evm_payload_recipient_mismatch'
const TERMS = 'invalid_payment_requirements'

describe('verify and settle refuse for the same reason, claim nothing and spend no gas, if', () => {
  const cases: [string, string, Forge][] = [
    ['the signature is for another chain', SIGNATURE, signedIn({ chainId: 8453 })],
    ['the signature is for another token', SIGNATURE, signedIn({ verifyingContract: other.address })],
    ['the signature is for a token of another name', SIGNATURE, signedIn({ name: 'USD Coin' })],
    [
      'the caller names another domain, and the payer signed in it',
      TERMS,
      async (payer) => {
        const body = await demanding({ extra: { name: 'USD Coin', version: '2' } })(payer, '')
        return signInDomain(payer, body, { name: 'USD Coin' })
      },
    ],
    [
      'another account signed',
      SIGNATURE,
      async (payer) => signInDomain(await newPayer(rpcUrl), await paymentRequest(payer), {}),
    ],
    [
      'the payer is the zero address',
      SIGNATURE,
      async (payer) => {
        const body = await paymentRequest(payer, { authorization: { from: ZeroAddress } })
        return withSignature(body, `0x${'0'.repeat(128)}1b`)
      },
    ],
    ['one unit less is signed', VALUE, authorizing({ value: String(AMOUNT - 1n) })],
    ['one unit more is signed', VALUE, authorizing({ value: String(AMOUNT + 1n) })],
    ['zero is signed', VALUE, authorizing({ value: '0' })],
    ['an amount above 2^255 is signed', VALUE, authorizing({ value: String(2n ** 255n + AMOUNT) })],
    [
      'zero is required and signed',
      TERMS,
      (payer) => paymentRequest(payer, { requirements: { maxAmountRequired: '0' } }),
    ],
    ['another recipient is signed', RECIPIENT, authorizing({ to: other.address })],
    ['another recipient is required', RECIPIENT, demanding({ payTo: other.address })],
    ['the payer pays itself', 'invalid_payment', payingTo((payer) => payer.address)],
    ['the recipient is the zero address', TERMS, payingTo(() => ZeroAddress)],
    ['the recipient is the asset', TERMS, payingTo(() => USDC_ADDRESS.toLowerCase())],
    ['the recipient is our signer', TERMS, payingTo((_payer, signer) => signer.toLowerCase())],
    ['it is not valid yet', AFTER, authorizing({ validAfter: inSeconds(60) })],
    ['it begins past 2^64', AFTER, authorizing({ validAfter: String(2n ** 64n) })],
    ['it ended a second ago', BEFORE, authorizing({ validBefore: inSeconds(-1) })],
    [
      'it ends before it begins',
      BEFORE,
      authorizing({ validAfter: inSeconds(-10), validBefore: inSeconds(-20) }),
    ],
    ['it ends in ten years', BEFORE, authorizing({ validBefore: inSeconds(years) })],
    ['it ends past 2^64', BEFORE, authorizing({ validBefore: String(2n ** 64n + 10n ** 10n) })],
    ['it never ends', BEFORE, authorizing({ validBefore: String(2n ** 256n - 1n) })],
    ['the signature is empty', SIGNATURE, signatureAs(() => '0x')],
    ['the signature is all zero', SIGNATURE, signatureAs(() => `0x${'0'.repeat(130)}`)],
    ['the signature is all ones', SIGNATURE, signatureAs(() => `0x${'f'.repeat(130)}`)],
    ...Object.entries(malleatedForms).map(([name, form]): [string, string, Forge] => [
      `the signature is ${name}`,
      SIGNATURE,
      signatureAs(form),
    ]),
  ]
  test.each(cases)('%s', async (_, reason, forge) => {
    await harness.expectRefused(await forge(await newPayer(rpcUrl), harness.signer.address), reason)
  })
})

test('a wallet that its signature would deploy (EIP-6492) is refused, and its factory is never called', async () => {
  const factory = Wallet.createRandom().address
  // Writes to slot 0 when it is called.
  await callRpc(rpcUrl, 'anvil_setCode', factory, '0x60015f5500')
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer)
  const inner = [factory, '0x12345678', body.paymentPayload.payload.signature]
  const wrapped = AbiCoder.defaultAbiCoder().encode(['address', 'bytes', 'bytes'], inner)
  await harness.expectRefused(
    withSignature(body, wrapped + '6492'.repeat(16)),
    'invalid_exact_evm_payload_undeployed_smart_wallet',
  )
  expect(BigInt((await callRpc(rpcUrl, 'eth_getStorageAt', factory, '0x0', 'latest')) as string)).toBe(0n)
})

/** Other encodings of the same signed payment. */
const otherEncodings = (body: PaymentRequest): PaymentRequest[] => {
  const { signature, authorization } = body.paymentPayload.payload
  const { from, to, nonce } = authorization
  const upper = (hex: string) => `0x${hex.slice(2).toUpperCase()}`
  const written = (changes: Partial<typeof authorization>) => {
    const changed = structuredClone(body)
    Object.assign(changed.paymentPayload.payload.authorization, changes)
    return changed
  }
  return [
    ...Object.values({ ...malleatedForms, ...walletForms }).map((form) =>
      withSignature(body, form(signature)),
    ),
    withSignature(body, upper(signature)),
    written({ from: from.toLowerCase() }),
    written({ to: upper(to), nonce: upper(nonce) }),
  ]
}

test('all forms of one payment at once, and again afterwards, are one transfer and one success', async () => {
  const payer = await newPayer(rpcUrl)
  const body = await paymentRequest(payer)
  const forms = [body, ...otherEncodings(body)]
  const sent = await harness.sent()
  const results = await Promise.all(forms.map((form) => harness.settle(form)))
  expect(results.filter(({ success }) => success)).toHaveLength(1)
  for (const form of forms)
    expect(await harness.settle(form)).toMatchObject({ success: false, transaction: '' })
  expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
  expect(await harness.sent()).toBe(sent + 1)
})

test.each(Object.entries(walletForms))(
  'a payment signed in a form that wallets make is accepted, and pays once in any form: %s',
  async (_, form) => {
    const payer = await newPayer(rpcUrl)
    const body = await paymentRequest(payer)
    const other = withSignature(body, form(body.paymentPayload.payload.signature))
    const sent = await harness.sent()
    expect(await harness.verify(other)).toMatchObject({ isValid: true, payer: payer.address })
    expect(await harness.settle(other)).toMatchObject({ success: true, payer: payer.address })
    expect(await harness.settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect(await harness.verify(body)).toMatchObject({ isValid: false })
    expect(await transfersFrom(rpcUrl, payer.address)).toHaveLength(1)
    expect(await harness.sent()).toBe(sent + 1)
  },
)

test('the recipient is the same in any letter case', async () => {
  const payer = await newPayer(rpcUrl)
  for (const spell of [
    (text: string) => text.toLowerCase(),
    (text: string) => `0x${text.slice(2).toUpperCase()}`,
  ]) {
    const body = await paymentRequest(payer)
    body.paymentRequirements.payTo = spell(body.paymentRequirements.payTo)
    expect(await harness.verify(body)).toMatchObject({ isValid: true })
    expect(await harness.settle(body)).toMatchObject({ success: true })
  }
})
