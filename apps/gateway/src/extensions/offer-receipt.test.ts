import { encodeJson } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { type PaymentRequired, type PaymentRequirements } from '@x402/core/types'
import { validateDiscoveryExtension, type DiscoveryExtension } from '@x402/extensions/bazaar'
import {
  decodeSignedOffers,
  extractJWSHeader,
  extractOffersFromPaymentRequired,
  extractReceiptFromResponse,
  findAcceptsObjectFromSignedOffer,
  verifyOfferSignatureJWS,
  verifyReceiptMatchesOffer,
  verifyReceiptSignatureJWS,
  type JWSSignedOffer,
  type JWSSignedReceipt,
} from '@x402/extensions/offer-receipt'
import { createClock } from '../testing/clock'
import { startUpstream } from '../testing/upstream'
import { createOfferSigner, type OfferSigner } from './offer-receipt'

afterAll(closeAll)

const secret = 'a secret of this test run and no other'
const payer = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const entry = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}
const cosmosEntry = { ...entry, network: 'cosmos:osmosis-1', asset: 'uosmo', payTo: 'osmo1recipient' }

type Setting = { path?: string; secrets?: string[]; published?: string[] }

/** A signer whose DID document is served where its public URL says; `secrets` sign, `published` are in the document. */
async function serving({ path = '', secrets = [secret], published = secrets }: Setting = {}) {
  const clock = createClock()
  const served: { path: string; document: object }[] = []
  const { url } = await startUpstream((res, { url: asked }) => {
    const found = served.find((one) => one.path === asked)
    return res.writeHead(found ? 200 : 404).end(JSON.stringify(found?.document))
  })
  const publicUrl = url + path
  const { didPath, didDocument } = createOfferSigner(published, publicUrl, clock.now)
  served.push({ path: path + didPath, document: didDocument })
  return {
    clock,
    publicUrl,
    resource: `${publicUrl}/v1/base-sepolia`,
    ...signerOf(secrets, publicUrl, clock),
  }
}

const signerOf = (secrets: string[], publicUrl: string, { now }: { now: () => Date }) => {
  const signer = createOfferSigner(secrets, publicUrl, now)
  return {
    signer,
    receiptFor: (resourceUrl: string) =>
      receiptIn(signer.receipt({ resourceUrl, network: entry.network, payer })),
  }
}

const requiredOf = (signer: OfferSigner, url: string, accepts = [entry]): PaymentRequired => ({
  x402Version: 2,
  resource: { url },
  accepts: accepts as PaymentRequirements[],
  extensions: signer.offers(url, accepts),
})

const offersIn = (required: PaymentRequired) => extractOffersFromPaymentRequired(required) as JWSSignedOffer[]

const receiptIn = (extensions: Readonly<Record<string, object>>) => {
  const headers = { 'PAYMENT-RESPONSE': encodeJson({ success: true, extensions }) }
  return extractReceiptFromResponse(new Response('', { headers })) as JWSSignedReceipt
}

test('the public package finds the key by itself, and verifies the offer of the first entry', async () => {
  const { signer, resource, clock } = await serving()
  const accepts = [entry, { ...entry, amount: '20000' }]
  const required = requiredOf(signer, resource, accepts)
  const offers = decodeSignedOffers(offersIn(required))
  expect(offers).toHaveLength(1)
  for (const [index, offer] of offers.entries()) {
    const { scheme, network, asset, payTo, amount } = accepts[index]!
    const terms = { scheme, network, asset, payTo, amount }
    const verified = await verifyOfferSignatureJWS(offer.signedOffer as JWSSignedOffer)
    expect(verified).toEqual({ version: 1, resourceUrl: resource, validUntil: offer.validUntil, ...terms })
    expect(findAcceptsObjectFromSignedOffer(offer, required.accepts)).toBe(required.accepts[index])
    const left = offer.validUntil - clock.now().getTime() / 1000
    expect(left).toBeGreaterThanOrEqual(entry.maxTimeoutSeconds - 1)
    expect(left).toBeLessThanOrEqual(entry.maxTimeoutSeconds + 61)
  }
})

test('an offer on a Cosmos network is verified too', async () => {
  const { signer, resource } = await serving()
  const [offer] = offersIn(requiredOf(signer, resource, [cosmosEntry]))
  expect(await verifyOfferSignatureJWS(offer!)).toMatchObject({ network: 'cosmos:osmosis-1' })
})

test('the receipt of a served call is verified, and matches the offer that was paid', async () => {
  const { signer, resource, receiptFor } = await serving()
  const [offer] = decodeSignedOffers(offersIn(requiredOf(signer, resource)))
  const receipt = receiptFor(resource)
  expect(await verifyReceiptSignatureJWS(receipt)).toEqual({
    version: 1,
    network: entry.network,
    resourceUrl: resource,
    payer,
    issuedAt: expect.any(Number) as number,
  })
  expect(verifyReceiptMatchesOffer(receipt, offer!, [payer])).toBe(true)
  const transaction = `0x${'ab'.repeat(32)}`
  const request = { resourceUrl: resource, network: entry.network, payer, transaction }
  expect(await verifyReceiptSignatureJWS(receiptIn(signer.receipt(request)))).toMatchObject({ transaction })
})

test('the key is found below the path of a public URL', async () => {
  const { signer, resource, receiptFor } = await serving({ path: '/paid/gateway' })
  expect(signer.didPath).toBe('/did.json')
  expect(signer.didDocument.id).toMatch(/^did:web:127\.0\.0\.1%3A\d+:paid:gateway$/)
  expect(await verifyReceiptSignatureJWS(receiptFor(resource))).toMatchObject({ resourceUrl: resource })
})

test('a changed offer, and one signed by another key, are refused', async () => {
  const { signer, resource, publicUrl, clock } = await serving()
  const [offer] = offersIn(requiredOf(signer, resource))
  const [head, body, signature] = offer!.signature.split('.')
  const changed = Buffer.from(body!, 'base64url').toString().replace('"10000"', '"10"')
  const forged = [head, Buffer.from(changed).toString('base64url'), signature].join('.')
  await expect(verifyOfferSignatureJWS({ format: 'jws', signature: forged })).rejects.toThrow()

  const stranger = signerOf(['a secret of somebody else, as long as ours'], publicUrl, clock)
  await expect(verifyReceiptSignatureJWS(stranger.receiptFor(resource))).rejects.toThrow()
})

test('a receipt outlives a rotation of the secret while the previous one is configured', async () => {
  const next = 'the secret that came after that one'
  const kept = await serving({ secrets: [secret], published: [next, secret] })
  expect(await verifyReceiptSignatureJWS(kept.receiptFor(kept.resource))).toMatchObject({ payer })
  const { kid } = extractJWSHeader(
    signerOf([next, secret], kept.publicUrl, kept.clock).receiptFor('').signature,
  )
  expect(kid).toBe(createOfferSigner([next], kept.publicUrl, kept.clock.now).didDocument.assertionMethod[0])

  const dropped = await serving({ secrets: [secret], published: [next] })
  await expect(verifyReceiptSignatureJWS(dropped.receiptFor(dropped.resource))).rejects.toThrow()
})

test('the DID document holds public keys only, which differ from the secret', async () => {
  const { signer } = await serving()
  const [method] = signer.didDocument.verificationMethod
  expect(Object.keys(method!.publicKeyJwk).toSorted()).toEqual(['crv', 'kty', 'x'])
  expect(JSON.stringify(signer.didDocument)).not.toContain(secret)
})

test('the offers of a minute are equal, so that each is signed once', async () => {
  const { signer, resource, clock } = await serving()
  clock.stop()
  clock.advance(60 - ((clock.now().getTime() / 1000) % 60))
  clock.advance(1)
  const signatures = () => offersIn(requiredOf(signer, resource)).map(({ signature }) => signature)
  const first = signatures()
  clock.advance(59)
  expect(signatures()).toEqual(first)
  clock.advance(1)
  expect(signatures()).not.toEqual(first)
})

test('the first entry has an offer, in the form of the schema', async () => {
  const { signer, resource } = await serving()
  const six = Array.from({ length: 6 }, (_, i) => ({ ...entry, amount: `${i + 1}` }))
  expect(offersIn(requiredOf(signer, resource, six))).toHaveLength(1)
  for (const extensions of [
    signer.offers(resource, six),
    signer.receipt({ resourceUrl: resource, network: entry.network, payer }),
  ]) {
    const extension = extensions['offer-receipt'] as unknown as DiscoveryExtension
    expect(validateDiscoveryExtension(extension)).toEqual({ valid: true })
  }
})

test('needs a secret', () => {
  expect(() => createOfferSigner([], 'https://gateway.example', () => new Date())).toThrow()
})
