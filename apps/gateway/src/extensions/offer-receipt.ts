import { type PaymentRequirementsV2 } from '@tollgate/protocol'
import { createHash, createPrivateKey, createPublicKey, hkdfSync, sign, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Extensions } from './extension'

const OFFER_RECEIPT = 'offer-receipt'

/** Equal offers of a minute are signed once: a 402 costs its client nothing. */
const OFFER_PERIOD_SECONDS = 60
const MAX_REMEMBERED = 4_096
/** Clients return every offer, in a header, with the payment; public ones pay the first entry that they can. */
const MAX_OFFERS = 1

export type OfferSigner = ReturnType<typeof createOfferSigner>

/**
 * x402's extension `offer-receipt`, as JWS (RFC 7515) by Ed25519. `kid` is a DID URL of the public URL's host, so that clients
 * find the key in `didDocument` and need no other trust than TLS. The first secret signs; the public keys of all are published,
 * so that a receipt outlives a rotation.
 */
export function createOfferSigner(secrets: readonly string[], publicUrl: string, now: () => Date) {
  const { did, path } = didOf(publicUrl)
  const keys = secrets.map((secret) => keyOf(secret, did))
  const [signing] = keys
  if (!signing) throw new Error('An offer needs at least one secret')
  const seconds = () => Math.floor(now().getTime() / 1000)
  const remembered = new LRUCache<string, string>({ max: MAX_REMEMBERED })

  const signOffer = (resourceUrl: string, requirements: PaymentRequirementsV2): string => {
    const { scheme, network, asset, payTo, amount, maxTimeoutSeconds } = requirements
    const period = Math.ceil(seconds() / OFFER_PERIOD_SECONDS) * OFFER_PERIOD_SECONDS
    const validUntil = period + maxTimeoutSeconds
    const offer = { amount, asset, network, payTo, resourceUrl, scheme, validUntil, version: 1 }
    const key = JSON.stringify(offer)
    const known = remembered.get(key) ?? signed(signing, key)
    remembered.set(key, known)
    return known
  }

  return {
    /** Where `didDocument` must be served. */
    didPath: path,
    didDocument: {
      '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
      id: did,
      verificationMethod: keys.map(({ kid, jwk }) => ({
        id: kid,
        type: 'JsonWebKey2020',
        controller: did,
        publicKeyJwk: jwk,
      })),
      assertionMethod: keys.map(({ kid }) => kid),
    },

    /** An offer for the first entry, of the resource that the 402 names. */
    offers: (resourceUrl: string, accepts: readonly PaymentRequirementsV2[]): Extensions => ({
      [OFFER_RECEIPT]: {
        info: {
          offers: accepts.slice(0, MAX_OFFERS).map((requirements, acceptIndex) => ({
            format: 'jws',
            acceptIndex,
            signature: signOffer(resourceUrl, requirements),
          })),
        },
        schema: schemaOf('offers'),
      },
    }),

    /** For a call that was paid and served. `network` as CAIP-2; `transaction` makes the payment public with the receipt. */
    receipt({ resourceUrl, network, payer, transaction }: Receipt): Extensions {
      const receipt = {
        issuedAt: seconds(),
        network,
        payer,
        resourceUrl,
        ...(transaction === undefined ? {} : { transaction }),
        version: 1,
      }
      const signature = signed(signing, JSON.stringify(receipt))
      return {
        [OFFER_RECEIPT]: {
          info: { receipt: { format: 'jws', signature } },
          schema: schemaOf('receipt'),
        },
      }
    },
  }
}

type Receipt = { resourceUrl: string; network: string; payer: string; transaction?: string }

/** PKCS #8 of an Ed25519 key, up to its seed (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

function keyOf(secret: string, did: string) {
  const seed = Buffer.from(hkdfSync('sha256', secret, '', 'tollgate offer-receipt', 32))
  const der = Buffer.concat([PKCS8_PREFIX, seed])
  const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const jwk = { crv: 'Ed25519', kty: 'OKP', x }
  const kid = `${did}#${thumbprintOf(jwk).slice(0, 8)}`
  return { kid, jwk, privateKey, header: base64url(JSON.stringify({ alg: 'EdDSA', kid })) }
}

/** RFC 7638: the members are in the order of their names. */
const thumbprintOf = (jwk: object) => createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')

/** JWS Compact Serialization. `payload`: JSON with its members in the order of their names (RFC 8785). */
function signed({ header, privateKey }: { header: string; privateKey: KeyObject }, payload: string): string {
  const input = `${header}.${base64url(payload)}`
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
}

const base64url = (value: string) => Buffer.from(value).toString('base64url')

/** https://w3c-ccg.github.io/did-method-web/: a port is encoded, and the segments of a path follow after colons. */
function didOf(publicUrl: string) {
  const { host, pathname } = new URL(publicUrl)
  const segments = pathname.split('/').filter((segment) => segment !== '')
  return {
    did: [
      'did:web',
      encodeURIComponent(host),
      ...segments.map((segment) => segment.replaceAll(':', '%3A')),
    ].join(':'),
    path: segments.length === 0 ? '/.well-known/did.json' : '/did.json',
  }
}

const schemaOf = (name: string) => ({ type: 'object', required: [name] })
