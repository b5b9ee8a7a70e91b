import { encodeJson, type PaymentRequiredV2 } from '@tollgate/protocol'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { publicPayment } from '../testing/public-client'
import { declareJsonRpc } from './bazaar'
import { fitExtensions } from './fit-extensions'
import { declareGasSponsoring } from './gas-sponsoring'
import { createOfferSigner } from './offer-receipt'
import { paymentIdentifier } from './payment-identifier'
import { createSignInWithX } from './sign-in-with-x'

const MAX_LENGTH = 5_100
const publicUrl = 'https://gateway.example'
const url = `${publicUrl}/v1/base-sepolia`
const now = () => new Date()
const offers = createOfferSigner(['a secret of this test run and no other'], publicUrl, now)
const signIn = createSignInWithX({
  nonces: {
    create: () => Promise.resolve('ab'.repeat(16)),
    consumeBound: () => Promise.resolve(undefined),
    isLive: () => Promise.resolve(false),
  },
  verifyContractSignature: () => Promise.resolve('no'),
  publicUrl,
  now,
})

const entries = (count: number) =>
  Array.from({ length: count }, (_, i) => ({
    scheme: 'exact',
    network: 'eip155:84532',
    amount: `${10_000 + i}`,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2', assetTransferMethod: 'permit2' },
  }))

async function fitted(count: number, more: Readonly<Record<string, object>> = {}) {
  const accepts = entries(count)
  const required: PaymentRequiredV2 = {
    x402Version: 2,
    error: 'PAYMENT-SIGNATURE header is required',
    resource: { url, description: '100 credits for RPC calls (plan Starter)', mimeType: 'application/json' },
    accepts,
  }
  const plan = { ecosystem: 'evm', chainId: '84532' } as Parameters<typeof signIn.declare>[1][number]
  return fitExtensions(required, {
    ...declareJsonRpc('evm'),
    ...declareGasSponsoring(accepts),
    ...paymentIdentifier,
    ...(await signIn.declare(url, [plan])),
    ...offers.offers(url, accepts),
    ...more,
  })
}

const all = ['bazaar', 'eip2612GasSponsoring', 'offer-receipt', 'payment-identifier', 'sign-in-with-x']
const namesIn = ({ extensions = {} }: PaymentRequiredV2) => Object.keys(extensions).toSorted()

test('everything fits with the entries of a full header, and clients return little of it', async () => {
  const required = await fitted(6)
  expect(namesIn(required)).toEqual(all)
  expect(PaymentRequiredV2Schema.parse(required)).toEqual(required)
  expect(encodeJson(required).length).toBeLessThanOrEqual(MAX_LENGTH)
  const payment = await publicPayment(required, { payload: {} })
  expect(Object.keys(payment.extensions!)).toHaveLength(all.length)
  expect(encodeJson(payment.extensions).length).toBeLessThanOrEqual(2_600)
})

test('the more entries, the more is omitted, beginning with what a client can do without', async () => {
  const kept: string[] = []
  for (let count = 1; count <= 16; count++) {
    const required = await fitted(count)
    if (required.extensions) expect(encodeJson(required).length).toBeLessThanOrEqual(MAX_LENGTH)
    const names = namesIn(required).join(' ')
    if (kept.at(-1) !== names) kept.push(names)
  }
  expect(kept).toEqual([
    'bazaar eip2612GasSponsoring offer-receipt payment-identifier sign-in-with-x',
    'bazaar eip2612GasSponsoring payment-identifier sign-in-with-x',
    'eip2612GasSponsoring payment-identifier sign-in-with-x',
    'eip2612GasSponsoring sign-in-with-x',
    'eip2612GasSponsoring',
    '',
  ])
})

test('an extension that clients would return at length is omitted, although the 402 fits', async () => {
  const required = await fitted(1, { bazaar: { info: 'x'.repeat(1_500) } })
  expect(namesIn(required)).toEqual(all.filter((name) => !['offer-receipt', 'bazaar'].includes(name)))
})
