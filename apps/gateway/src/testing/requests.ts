import {
  bearer,
  headerTexts,
  hostileTexts,
  inBase64,
  live,
  often,
  spoiled,
  spoiledText,
  strangeAuthorization,
  type Headers,
  type RequestOptions,
} from '@tollgate/testing/reference'
import fc from 'fast-check'

export const liveCounts = {
  token: 3,
  poor: 1,
  ended: 1,
  spare: 60,
  refresh: 60,
  login: 80,
  cosmosLogin: 40,
  payment: 60,
  wallet: 4,
  plainPath: 6,
  keyId: 60,
  paymentId: 1,
  webhookId: 1,
  deliveryId: 1,
  spareWebhookId: 4,
}
export type LiveName = keyof typeof liveCounts | 'message' | 'signature' | 'address' | 'pubkey'

export const requestOptions: RequestOptions = {
  headersOf: ({ path, operation }) =>
    fc
      .tuple(authorization(operation.security.length > 0, operation.operationId), paymentsOn(path))
      .map((lists) => lists.flat()),

  pathOf({ operation: { operationId } }, name) {
    if (name === 'chain' && operationId === 'readPayerAccount') return fc.constant('cosmoshub-4')
    if (operationId === 'getPayment')
      return fc.constant(name === 'wallet' ? '<<wallet:0>>' : '<<paymentId:0>>')
    if (name === 'wallet') return live('wallet', liveCounts.wallet)
    if (name === 'path') return live('plainPath', liveCounts.plainPath)
    if (operationId === 'deleteWebhook') return live('spareWebhookId', liveCounts.spareWebhookId)
    if (operationId.includes('Webhook')) return live(name === 'id' ? 'webhookId' : name, 1)
    return operationId === 'deleteKey' ? live('keyId', liveCounts.keyId) : undefined
  },

  bodyOf({ operation: { operationId } }, example) {
    if (operationId === 'refresh')
      return live('refresh', liveCounts.refresh).map((refresh_token) => ({ refresh_token }))
    if (operationId !== 'login') return fc.constant(example)
    const { login, cosmosLogin } = liveCounts
    const isOfCosmos = 'pubkey' in (example as object)
    const [min, max] = isOfCosmos ? [login, login + cosmosLogin - 1] : [0, login - 1]
    return fc.integer({ min, max }).map((index) => ({
      ...(example as object),
      message: `<<message:${index}>>`,
      signature: `<<signature:${index}>>`,
      address: `<<address:${index}>>`,
      ...(isOfCosmos ? { pubkey: `<<pubkey:${index}>>` } : {}),
    }))
  },
}

function authorization(isNeeded: boolean, operationId: string): fc.Arbitrary<Headers> {
  // Some of the strange ones are valid, and would end the session that all other requests need.
  if (operationId === 'logout')
    return often(
      bearer(live('spare', liveCounts.spare)),
      strangeAuthorization('<<spare:0>>', '<<spare:1>>', '<<refresh:0>>'),
    )
  const strange = strangeAuthorization('<<token:0>>', '<<token:1>>', '<<refresh:0>>')
  if (!isNeeded) return often(fc.constant<Headers>([]), strange, 12)
  const usual = fc.oneof(
    // The first one owns the live webhooks.
    { weight: 8, arbitrary: live('token', operationId.includes('Webhook') ? 1 : liveCounts.token) },
    { weight: 2, arbitrary: fc.constant('<<poor:0>>') },
    { weight: 1, arbitrary: fc.constant('<<ended:0>>') },
  )
  return often(bearer(usual), strange, 12)
}

const base64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64')

const payment = (proof: fc.Arbitrary<string>, header = 'x-payment') =>
  proof.map((text): Headers => [[header, text]])

const paymentShape = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  payload: {
    signature: `0x${'5c'.repeat(64)}1b`,
    authorization: {
      from: '<<wallet:0>>',
      to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
      value: '10000',
      validAfter: '0',
      validBefore: '99999999999',
      nonce: `0x${'0d'.repeat(32)}`,
    },
  },
}

const paymentShapeV2 = {
  x402Version: 2,
  accepted: {
    scheme: 'exact',
    network: 'eip155:84532',
    amount: '10000',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    payTo: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2' },
  },
  payload: paymentShape.payload,
}

function paymentsOn(path: string): fc.Arbitrary<Headers> {
  // Only a payment of the signed-in wallet is answered with 200 there.
  if (path === '/credits') return often(payment(live('payment', liveCounts.payment)), payments)
  return path === '/rpc' || path.startsWith('/v1/') ? payments : fc.constant<Headers>([])
}

const payments: fc.Arbitrary<Headers> = fc.oneof(
  { weight: 40, arbitrary: fc.constant<Headers>([]) },
  { weight: 5, arbitrary: payment(live('payment', liveCounts.payment)) },
  { weight: 2, arbitrary: payment(headerTexts) },
  { weight: 2, arbitrary: payment(hostileTexts.map(base64)) },
  { weight: 2, arbitrary: payment(spoiled(paymentShape).map(inBase64)) },
  {
    weight: 1,
    arbitrary: payment(spoiled({ paymentPayload: paymentShape, paymentRequirements: {} }).map(base64)),
  },
  {
    weight: 1,
    arbitrary: payment(
      spoiledText(JSON.stringify(paymentShape))
        .map(base64)
        .map((text) => text.slice(0, 12_000)),
    ),
  },
  {
    weight: 1,
    arbitrary: payment(fc.constantFrom('x'.repeat(12_289), '!!!!', '=', 'e30', 'bnVsbA==', '<<payment:0>>=')),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(live('payment', liveCounts.payment), headerTexts).map(([one, other]): Headers => [
      ['x-payment', one],
      ['x-payment', other],
    ]),
  },
  {
    weight: 3,
    arbitrary: payment(spoiled(paymentShapeV2).map(inBase64), 'payment-signature'),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(live('payment', liveCounts.payment), headerTexts).map(([one, other]): Headers => [
      ['x-payment', one],
      ['payment-signature', other],
    ]),
  },
)
