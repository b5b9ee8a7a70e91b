import { families, type SignInProof } from '@tollgate/chains'
import { caip2, decodeJson } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { z } from 'zod'
import { type ContractWallets, type ProofSource } from '../auth/contract-wallets'
import { parseMessage, type SignInMessage } from '../auth/message'
import { NONCE_TTL_SECONDS, type Nonces } from '../auth/nonces'
import { type SignedBy } from '../auth/sessions'
import { type Plan } from '../catalog/catalog'
import { type Extensions } from './extension'

const SIGN_IN_WITH_X = 'sign-in-with-x'
export const SIGN_IN_HEADER = 'SIGN-IN-WITH-X'
const MAX_SIGN_IN_HEADER_LENGTH = 8_192

/** Covered by the signature, so an older proof is void when it changes. */
const STATEMENT = 'Sign in to spend your credits at this gateway.'

/** A contract proves its address on `chainId` only: on another chain a different owner may have it. */
export type SignedIn = { wallet: string; chainId: string; signedBy: SignedBy }

export type SignInWithX = ReturnType<typeof createSignInWithX>

type LiveSource = ProofSource & { nonce: string }

/**
 * x402's extension `sign-in-with-x` (CAIP-122) for EVM accounts. A proof signs in for one request: its nonce is consumed. The
 * nonce is bound to the extension instead of an address, so that the proof is no login at `POST /auth/login`, and a nonce of
 * `GET /auth/nonce` makes no proof. The public client signs only if the network of the first entry of `accepts` is among `supportedChains`.
 */
export function createSignInWithX(parts: {
  nonces: Pick<Nonces, 'create' | 'consumeBound' | 'isLive'>
  verifyContractSignature: ContractWallets
  publicUrl: string
  now: () => Date
}) {
  const { nonces, verifyContractSignature, publicUrl, now } = parts
  const domain = new URL(publicUrl).host

  /** The nodes are asked about a live challenge only, and a few times. */
  async function assertContractSignature(plan: Plan, signed: SignInProof, source: LiveSource) {
    if (!(await nonces.isLive(source.nonce, SIGN_IN_WITH_X, { onlyBound: true }))) throw expired()
    const answer = await verifyContractSignature(plan, signed, source)
    if (answer === 'used-up') throw refused('this challenge was tried too often')
    if (answer === 'no') throw refused('the signature is not the address’s own')
    if (answer === 'unknown')
      throw refused('only the address’s chain could accept the signature, and it is unavailable')
  }

  const isOurs = (uri: string) => uri === publicUrl || uri.startsWith(`${publicUrl}/`)

  return {
    /** Empty without an EVM plan. `resource`: the absolute URL of the request, below the public URL. */
    async declare(resource: string, plans: readonly Plan[]): Promise<Extensions> {
      const supportedChains = [...new Set(plans.filter(isEvm).map(caip2))].map((chainId) => ({
        chainId,
        type: 'eip191',
      }))
      if (supportedChains.length === 0) return {}
      const issuedAt = now()
      const info = {
        domain,
        uri: resource,
        version: '1',
        statement: STATEMENT,
        nonce: await nonces.create(SIGN_IN_WITH_X),
        issuedAt: issuedAt.toISOString(),
        expirationTime: new Date(issuedAt.getTime() + NONCE_TTL_SECONDS * 1000).toISOString(),
      }
      return { [SIGN_IN_WITH_X]: { info, supportedChains, schema } }
    },

    /**
     * Consumes the nonce last, so that a proof refused for another reason can be sent again. `address` of the client.
     *
     * @throws ApiError 401, RATE_LIMITED or OVERLOADED
     */
    async verify(header: string, plans: readonly Plan[], address: string): Promise<SignedIn> {
      const proof = parseProof(header)
      if (proof.domain !== domain || ![proof.uri, ...(proof.resources ?? [])].every(isOurs))
        throw refused('it is for another service')
      const plan = plans.filter(isEvm).find((candidate) => caip2(candidate) === proof.chainId)
      if (!plan) throw refused('no plan is sold for its chain')

      const text = textOf(proof, plan.chainId)
      const message = parseMessage(text)
      const wallet = families.evm?.parseAddress(proof.address)
      if (!message || wallet === undefined) throw unreadable()
      assertTimes(message, now())

      const signed = { message: text, address: wallet, signature: proof.signature }
      const signedBy = families.evm?.verifySignIn(signed) ? 'key' : 'contract'
      if (signedBy === 'contract')
        await assertContractSignature(plan, signed, { address, nonce: proof.nonce })
      if (!(await nonces.consumeBound(proof.nonce, SIGN_IN_WITH_X))) throw expired()
      return { wallet, chainId: plan.chainId, signedBy }
    },
  }
}

const isEvm = ({ ecosystem }: Plan) => ecosystem === 'evm'

/** The length of the header bounds it. */
const visible = z.string().regex(/^[!-~]+$/)

/** Each member fits on one line, so that the text built of them has no other fields. */
const Proof = z.object({
  domain: visible,
  address: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
  statement: z.literal(STATEMENT),
  uri: visible,
  version: z.literal('1'),
  chainId: visible,
  type: z.literal('eip191'),
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  issuedAt: visible,
  expirationTime: visible,
  notBefore: visible.optional(),
  requestId: visible.optional(),
  resources: z.array(visible).optional(),
  signature: z
    .string()
    .regex(/^(?:0x)?(?:[0-9a-fA-F]{2})*$/)
    .min(2),
})
type Proof = z.infer<typeof Proof>

function parseProof(header: string): Proof {
  const { data } = Proof.safeParse(header.length > MAX_SIGN_IN_HEADER_LENGTH ? undefined : decodeJson(header))
  if (!data) throw unreadable()
  return data
}

/** The message of EIP-4361 that the client signed (https://eips.ethereum.org/EIPS/eip-4361#message-format). */
const textOf = (proof: Proof, chainId: string): string =>
  [
    `${proof.domain} wants you to sign in with your Ethereum account:`,
    proof.address,
    '',
    proof.statement,
    '',
    `URI: ${proof.uri}`,
    `Version: ${proof.version}`,
    `Chain ID: ${chainId}`,
    `Nonce: ${proof.nonce}`,
    `Issued At: ${proof.issuedAt}`,
    `Expiration Time: ${proof.expirationTime}`,
    ...(proof.notBefore === undefined ? [] : [`Not Before: ${proof.notBefore}`]),
    ...(proof.requestId === undefined ? [] : [`Request ID: ${proof.requestId}`]),
    ...(proof.resources === undefined ? [] : ['Resources:', ...proof.resources.map((uri) => `- ${uri}`)]),
  ].join('\n')

/** All replicas issue times, so their clocks may differ a little. */
const CLOCK_SKEW_SECONDS = 60

function assertTimes({ issuedAt, expiresAt, notBefore }: SignInMessage, now: Date) {
  const age = (now.getTime() - issuedAt.getTime()) / 1000
  const soonest = now.getTime() + CLOCK_SKEW_SECONDS * 1000
  if (age < -CLOCK_SKEW_SECONDS || (notBefore && notBefore.getTime() > soonest))
    throw refused('it is not valid yet')
  if (age > NONCE_TTL_SECONDS || !expiresAt || now >= expiresAt) throw expired()
}

const refused = (reason: string) =>
  new ApiError('INVALID_SIGNATURE', `${SIGN_IN_HEADER} is refused: ${reason}; sign the challenge of a 402`)

const unreadable = () =>
  refused('it is not the base64 of a signed challenge, with every member of it and an EVM address')

const expired = () =>
  new ApiError(
    'EXPIRED_NONCE',
    `${SIGN_IN_HEADER} is used or expired; call without it and sign the new challenge of the 402`,
  )

/** Short, because clients return it in a header, with each payment. */
const schema = { type: 'object', required: ['address', 'chainId', 'type', 'signature'] }
