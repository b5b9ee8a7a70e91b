import * as v from 'valibot'
import { TollgateError } from '../errors.js'
import { type Events } from '../events.js'
import { isLost } from '../http.js'
import { clockWrong } from '../payments/clock.js'
import { createSingleFlight, type SingleFlight } from '../single-flight.js'
import { signalOf, untilStopped, type Stops } from '../stops.js'
import { type WalletStorage } from '../storage/storage.js'
import { type Wallet } from '../wallets/wallet.js'
import { type GatewayClient } from './gateway-client.js'
import { audienceOf, signInText } from './sign-in-text.js'
import { type PlanChoice } from './plan-choice.js'
import { type Plan } from './wire.js'

const StoredSession = v.object({ token: v.string(), refreshToken: v.string(), expiresAt: v.string() })
type StoredSession = v.InferOutput<typeof StoredSession>

/** A wallet's address on a plan. */
export type Account = { plan: Plan; address: string }

export type Session = Account & { token: string }

export type Sessions = ReturnType<typeof createSessions>

/** A token is renewed so long before it expires that a call with it still arrives in time. */
const RENEWED_BEFORE_MS = 60_000

/**
 * The session of a wallet on a plan, which all tabs and processes of one storage share: one of them signs in or refreshes, and
 * the others use its tokens.
 */
export function createSessions(parts: {
  gateway: GatewayClient
  wallet: Wallet
  storage: WalletStorage
  events: Events
  plans: PlanChoice
  serviceName: string | undefined
  now: () => number
  closed: AbortSignal
}) {
  const { gateway, wallet, storage, events, plans, now, closed } = parts
  const current = new Map<string, StoredSession>()

  /** Of a plan that is found meanwhile, and the wallet. */
  async function accountOn(findPlan: () => Promise<Plan>, signal: AbortSignal | undefined): Promise<Account> {
    const find = () => Promise.all([findPlan(), wallet.address()])
    const [plan, address] = await untilStopped(find, { closed, signal })
    return { plan, address }
  }
  const opening = new Map<string, SingleFlight<StoredSession>>()

  /** @throws TollgateError SIGN_IN_REFUSED, SIGNATURE_REFUSED */
  async function openAt(findPlan: () => Promise<Plan>, signal: AbortSignal | undefined): Promise<Session> {
    return openOn({ ...(await accountOn(findPlan, signal)), stale: undefined }, signal)
  }

  async function openOn(wanted: Wanted, signal: AbortSignal | undefined): Promise<Session> {
    const { plan, address, stale } = wanted
    const key = keyOf(address, plan)
    const known = current.get(key)
    if (known && isUsable(known, stale)) return { token: known.token, plan, address }
    const share = opening.get(key) ?? createSingleFlight<StoredSession>(closed)
    opening.set(key, share)
    const { result } = await share((abandoned) => {
      const stops = { closed, signal: abandoned }
      return storage.lock(key, () => openShared(key, wanted, stops), signalOf(stops))
    }, signal)
    current.set(key, result)
    return { token: result.token, plan, address }
  }

  const isUsable = ({ token, expiresAt }: StoredSession, stale: string | undefined) =>
    token !== stale && Date.parse(expiresAt) - RENEWED_BEFORE_MS > now()

  type Wanted = Account & { stale: string | undefined }

  async function openShared(
    key: string,
    { plan, address, stale }: Wanted,
    stops: Stops,
  ): Promise<StoredSession> {
    const stored = parse(await storage.get(key))
    if (stored && isUsable(stored, stale)) return stored
    const session =
      (stored && ((await refresh(stored)) ?? (await findNewer(key, stored, stale)))) ??
      (await signIn(plan, address, stops))
    await storage.set(key, JSON.stringify(session))
    return session
  }

  /** The session that another program stored, without this lock, while it used the refresh token. */
  async function findNewer(key: string, used: StoredSession, stale: string | undefined) {
    const stored = parse(await storage.get(key))
    return stored && stored.refreshToken !== used.refreshToken && isUsable(stored, stale) ? stored : undefined
  }

  /** Undefined if the session has ended. */
  async function refresh({ refreshToken }: StoredSession): Promise<StoredSession | undefined> {
    try {
      return storedOf(await gateway.refresh(refreshToken))
    } catch (error) {
      const status = error instanceof TollgateError ? error.details['status'] : undefined
      if (status === 401 || status === 403 || status === 400) return undefined
      throw error
    }
  }

  async function signIn(plan: Plan, address: string, stops: Stops): Promise<StoredSession> {
    try {
      const { nonce, domains = [] } = await gateway.nonce(address, stops.signal)
      const { serviceName: name } = parts
      const audience = audienceOf(gateway.url, { page: currentPage(), accepted: domains, name })
      const issuedAt = new Date(now()).toISOString()
      const { ecosystem } = wallet
      const fields = { ecosystem, address, chainId: chainOfText(plan), nonce, issuedAt }
      const message = signInText(gateway.url, audience, fields)
      const signed = await untilStopped(() => wallet.signText(message), stops)
      const tokens = await gateway.login({
        message,
        address,
        ...signed,
        auth_method: ecosystem === 'evm' ? 'siwe' : 'siwc',
        x402_chain_id: plan.chain_id,
        x402_ecosystem: plan.ecosystem,
        pricing_plan_id: plan.id,
      })
      events.emit('signed-in', { address, planId: plan.id, expiresAt: tokens.expires_at })
      return storedOf(tokens)
    } catch (error) {
      throw asRefused(error, now())
    }
  }

  /** EIP-4361 names an EVM chain, whichever chain the plan is paid on. */
  function chainOfText(plan: Plan): string {
    return plan.ecosystem === wallet.ecosystem || wallet.ecosystem === 'cosmos' ? plan.chain_id : '1'
  }

  async function endShared(key: string): Promise<void> {
    const stored = parse(await storage.get(key))
    current.delete(key)
    if (stored && !(await isEnded(stored))) await endRenewed(key, stored)
    // Not before: a session whose end got no answer is ended by the next `signOut()`.
    await storage.delete(key)
  }

  /** Of a token that has expired: the refresh token may live on, so the session ends with a new token. */
  async function endRenewed(key: string, stored: StoredSession): Promise<void> {
    const renewed = await refresh(stored)
    if (!renewed) return
    await storage.set(key, JSON.stringify(renewed))
    await isEnded(renewed)
  }

  async function isEnded({ token }: StoredSession): Promise<boolean> {
    try {
      await gateway.logout(token)
      return true
    } catch (error) {
      if (isLost(error)) throw error
      return false
    }
  }

  function prefixOf(address: string): string {
    return `sessions/${keyPart(gateway.url)}/${address.toLowerCase()}/`
  }

  function keyOf(address: string, { id }: Plan): string {
    return `${prefixOf(address)}${id}`
  }

  return {
    open: (signal?: AbortSignal) => openAt(plans.find, signal),

    /** After the credits of the plans `tried` did not suffice: on another one, or on one of them to buy there. */
    openOther: (tried: ReadonlySet<number>, signal: AbortSignal | undefined) =>
      openAt(() => plans.findOther(tried), signal),

    /** The account to buy credits for, which may have no session yet. */
    accountToBuy: (signal: AbortSignal | undefined) => accountOn(plans.findToBuy, signal),

    openFor: (account: Account, signal: AbortSignal | undefined) =>
      openOn({ ...account, stale: undefined }, signal),

    /** The session of the same plan and account, after its token was refused. */
    renew: ({ plan, address, token }: Session, signal: AbortSignal | undefined) =>
      openOn({ plan, address, stale: token }, signal),

    /** Whether the storage has a session, which the gateway may have ended, on the plan in use. */
    async isStored(): Promise<boolean> {
      const { plan, address } = await accountOn(plans.find, undefined)
      return parse(await storage.get(keyOf(address, plan))) !== undefined
    },

    /** Ends the sessions of the account at the gateway, on every plan. */
    async end(): Promise<void> {
      for (const key of await storage.list(prefixOf(await wallet.address())))
        await storage.lock(key, () => endShared(key), signalOf({ closed }))
    },
  }
}

const storedOf = (tokens: { token: string; refresh_token: string; expires_at: string }): StoredSession => ({
  token: tokens.token,
  refreshToken: tokens.refresh_token,
  expiresAt: tokens.expires_at,
})

/** A session that cannot be read is replaced: it holds no money. */
function parse(text: string | undefined): StoredSession | undefined {
  if (text === undefined) return undefined
  try {
    return v.parse(StoredSession, JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Beyond it, a text that was signed now may be too old for the gateway, or too new. */
const MAX_CLOCK_SKEW_MS = 60_000

function asRefused(error: unknown, now: number): unknown {
  if (!(error instanceof TollgateError) || error.code !== 'GATEWAY_ERROR') return error
  const { details, message } = error
  const isRefusal = [400, 401, 403, 404].includes(Number(details['status']))
  const skew = Number(details['serverTime'] ?? now) - now
  if (isRefusal && Math.abs(skew) > MAX_CLOCK_SKEW_MS)
    return clockWrong(skew / 1000, `it refused the sign-in (${message})`, error)
  return isRefusal ? new TollgateError('SIGN_IN_REFUSED', message, { cause: error, details }) : error
}

/** The page of a browser; undefined elsewhere. */
function currentPage(): URL | undefined {
  const { location } = globalThis as { location?: { href: string } }
  return location && URL.canParse(location.href) && location.href.startsWith('http')
    ? new URL(location.href)
    : undefined
}

/** A URL in the characters that keys of a storage may have; another URL gives another text. */
export const keyPart = (url: string) =>
  url.replaceAll(/[^A-Za-z0-9.:-]/g, (character) => `_${character.charCodeAt(0).toString(16)}_`)
