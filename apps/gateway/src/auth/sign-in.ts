import { families, type Family, type SignInProof } from '@tollgate/chains'
import {
  caip2,
  type AuthMethod,
  type Ecosystem,
  type LoginRequest,
  type SessionTokens,
} from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type FreeCredits } from '../accounts/free-credits'
import { type Catalog, type Plan } from '../catalog/catalog'
import { isOfHost, problemOfAnyDomain } from './any-domain'
import { type ContractWallets } from './contract-wallets'
import { problemOfDomain } from './domain'
import { parseMessage, type SignInMessage } from './message'
import { NONCE_TTL_SECONDS, type Nonces } from './nonces'
import { type Sessions } from './sessions'

const CLOCK_SKEW_SECONDS = 60

const methodOf: Record<Ecosystem, AuthMethod> = { evm: 'siwe', cosmos: 'siwc' }
const ecosystemOf: Record<AuthMethod, Ecosystem> = { siwe: 'evm', siwc: 'cosmos' }

type Sender = { address: string; origin: string | undefined }

export type SignIn = ReturnType<typeof createSignIn>

/** Consumes the nonce last, so that a failed login can be repeated with it. */
export function createSignIn(parts: {
  catalog: Catalog
  nonces: Nonces
  sessions: Sessions
  freeCredits: Pick<FreeCredits, 'giveToWallet'>
  listedDomains: readonly string[]
  publicUrl: string
  verifyContractSignature: ContractWallets
  now: () => Date
}) {
  const { catalog, nonces, sessions, freeCredits, listedDomains, publicUrl, verifyContractSignature, now } =
    parts
  const takesAnyDomain = listedDomains.includes('*')

  /** `address` of the client, `origin` of the page that sends the request, if a browser names one. */
  return async (login: LoginRequest, { address, origin }: Sender): Promise<SessionTokens> => {
    const plan = selectPlan(login, await catalog.getActivePlans())
    const authMethod = login.auth_method ?? methodOf[plan.ecosystem]
    const family = familyOf(authMethod)
    if (authMethod === 'siwc' && login.pubkey === undefined)
      throw new ApiError(
        'INVALID_REQUEST',
        'pubkey: is required for siwc, whose signatures do not contain the key',
      )

    const message = parseMessage(login.message)
    if (!message) throw new ApiError('INVALID_REQUEST', UNREADABLE)
    const problem = takesAnyDomain
      ? problemOfAnyDomain(message, { publicUrl, origin })
      : problemOfDomain(message, { listed: listedDomains, publicUrl })
    if (problem !== undefined) throw new ApiError('INVALID_REQUEST', `message: ${problem}`)
    assertTimes(message, now())
    assertChain(family, message, plan)

    const wallet = getWallet(family, message, login)
    const proof = { ...proofOf(login), address: wallet }
    const signedBy = family.verifySignIn(proof) ? 'key' : 'contract'
    if (signedBy === 'contract') await assertContractSignature(family, plan, message, { proof, address })
    const nonce = await nonces.consume(message.nonce, wallet)
    if (!nonce || (takesAnyDomain && nonce.origin !== '' && !isOfHost(nonce.origin, message.domain)))
      throw expiredNonce()

    await freeCredits.giveToWallet(wallet, address)
    return sessions.create({ wallet, authMethod, signedBy, plan })
  }

  /** EIP-4361 binds a contract's sign-in to the Chain ID of the message, which must be the plan's chain. */
  async function assertContractSignature(
    family: Family,
    plan: Plan,
    { chainId, nonce }: SignInMessage,
    { proof, address }: { proof: SignInProof; address: string },
  ) {
    if (family.ecosystem !== plan.ecosystem || (chainId !== undefined && chainId !== plan.chainId))
      throw notSigned()
    const isLive = await nonces.isLive(nonce, proof.address)
    const answer = await verifyContractSignature(plan, proof, { address, nonce: isLive ? nonce : undefined })
    if (answer === 'used-up' && !isLive) throw expiredNonce()
    if (answer === 'used-up')
      throw notSigned('; this nonce was tried too often: ask GET /auth/nonce for a new one')
    if (answer === 'no')
      throw notSigned(` (if the address is a contract: it must be deployed on chain ${plan.chainId})`)
    if (answer === 'unknown')
      throw notSigned(' (if the address is a contract: its chain was unavailable, so try again)')
  }
}

const notSigned = (hint = '') =>
  new ApiError(
    'INVALID_SIGNATURE',
    `The signature is not the address’s own; sign the message with that wallet${hint}`,
  )

const UNREADABLE =
  'message: is none of the sign-in text, EIP-4361 and CAIP-122; it needs one Address, one Nonce and one Issued At, nothing after them, and in the latter two nothing but ASCII'

const expiredNonce = () =>
  new ApiError(
    'EXPIRED_NONCE',
    'The nonce is unknown, used or expired; ask GET /auth/nonce for a new one and sign again',
  )

const proofOf = ({ message, signature, pubkey }: LoginRequest) =>
  pubkey === undefined ? { message, signature } : { message, signature, pubkey }

function familyOf(method: AuthMethod): Family {
  const family = families[ecosystemOf[method]]
  if (!family) throw new ApiError('INVALID_REQUEST', `auth_method: ${method} is not offered here`)
  return family
}

function selectPlan(login: LoginRequest, plans: readonly Plan[]): Plan {
  const { chain, pricing_plan_id: id, x402_chain_id: chainId, x402_ecosystem: ecosystem } = login
  const named = plans.filter((plan) => chain === undefined || hasChainName(plan, chain.toLowerCase()))
  if (chain !== undefined && named.length === 0)
    throw new ApiError('INVALID_REQUEST', 'chain: no plan is sold for it; see GET /pricing')

  const fits = (candidate: Plan) =>
    id === undefined ? settlesOn(candidate, { chainId, ecosystem }) : candidate.id === id
  const plan = named.find(fits) ?? (id === undefined ? named[0] : undefined)
  if (!plan) throw new ApiError('NOT_FOUND', `There is no active plan ${id ?? ''}; see GET /pricing`)
  if (chainId !== undefined && chainId !== plan.chainId)
    throw new ApiError('INVALID_REQUEST', `x402_chain_id: plan ${plan.id} settles on chain ${plan.chainId}`)
  if (ecosystem !== undefined && ecosystem !== plan.ecosystem)
    throw new ApiError('INVALID_REQUEST', `x402_ecosystem: plan ${plan.id} settles on ${plan.ecosystem}`)
  return plan
}

const settlesOn = (
  plan: Plan,
  { chainId, ecosystem }: { chainId?: string | undefined; ecosystem?: Ecosystem | undefined },
) =>
  (chainId === undefined || chainId === plan.chainId) &&
  (ecosystem === undefined || ecosystem === plan.ecosystem)

const ecosystemNames: Partial<Record<string, Ecosystem>> = { ethereum: 'evm', evm: 'evm', cosmos: 'cosmos' }

const hasChainName = (plan: Plan, word: string) =>
  [plan.network, plan.chainId, caip2(plan)].some((name) => word === name.toLowerCase()) ||
  ecosystemNames[word] === plan.ecosystem

/**
 * Whether a message with a Chain ID signs in for plans of that chain only. An Ethereum account is the same on every chain, and
 * apps write the wallet's current one. A Cosmos signature (ADR-036) does not cover the chain, so the text must.
 */
const isBoundToChain: Record<Ecosystem, boolean> = { evm: false, cosmos: true }

function assertChain({ ecosystem }: Family, { chainId }: SignInMessage, plan: Plan) {
  if (!isBoundToChain[ecosystem] || ecosystem !== plan.ecosystem) return
  if (chainId !== undefined && chainId !== plan.chainId)
    throw new ApiError(
      'INVALID_REQUEST',
      `message: Chain ID is ${chainId}, but plan ${plan.id} settles on chain ${plan.chainId}`,
    )
}

function assertTimes({ issuedAt, expiresAt, notBefore }: SignInMessage, now: Date) {
  const age = (now.getTime() - issuedAt.getTime()) / 1000
  if (age < -CLOCK_SKEW_SECONDS) throw new ApiError('INVALID_REQUEST', 'message: Issued At is in the future')
  if (notBefore && notBefore.getTime() > now.getTime() + CLOCK_SKEW_SECONDS * 1000)
    throw new ApiError('INVALID_REQUEST', 'message: Not Before has not come yet')
  if (age > NONCE_TTL_SECONDS || (expiresAt && now >= expiresAt)) throw expiredNonce()
}

function getWallet(family: Family, message: SignInMessage, login: LoginRequest): string {
  const wallet = family.parseAddress(login.address)
  if (wallet === undefined)
    throw new ApiError('INVALID_REQUEST', `address: is no ${family.ecosystem} address`)
  if (family.parseAddress(message.address) !== wallet)
    throw new ApiError('INVALID_SIGNATURE', 'The message names another address than the request')
  return wallet
}
