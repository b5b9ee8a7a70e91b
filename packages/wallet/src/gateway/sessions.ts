import * as v from 'valibot'
import { TollgateError } from '../errors.js'
import { type Events } from '../events.js'
import { isLost } from '../http.js'
import { signalOf } from '../stops.js'
import { type WalletStorage } from '../storage/storage.js'
import { type Wallet } from '../wallets/wallet.js'
import { type GatewayClient } from './gateway-client.js'
import { audienceOf, signInText } from './sign-in-text.js'
import { type PlanChoice } from './plan-choice.js'
import { type Plan } from './wire.js'

const StoredSession = v.object({ token: v.string(), refreshToken: v.string(), expiresAt: v.string() })
type StoredSession = v.InferOutput<typeof StoredSession>

export type Session = { token: string; plan: Plan; address: string }

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
  const opening = new Map<string, Promise<StoredSession>>()

  /** @throws TollgateError SIGN_IN_REFUSED, SIGNATURE_REFUSED */
  async function open(): Promise<Session> {
    const [plan, address] = await Promise.all([plans.find(), wallet.address()])
    return openOn({ plan, address, stale: undefined })
  }

  async function openOn({ plan, address, stale }: Wanted): Promise<Session> {
    const key = keyOf(address, plan)
    const known = current.get(key)
    if (known && isUsable(known, stale)) return { token: known.token, plan, address }
    const shared =
      opening.get(key) ??
      storage
        .lock(key, () => openShared(key, { plan, address, stale }), signalOf({ closed }))
        .finally(() => opening.delete(key))
    opening.set(key, shared)
    const session = await shared
    current.set(key, session)
    return { token: session.token, plan, address }
  }

  const isUsable = ({ token, expiresAt }: StoredSession, stale: string | undefined) =>
    token !== stale && Date.parse(expiresAt) - RENEWED_BEFORE_MS > now()

  type Wanted = { plan: Plan; address: string; stale: string | undefined }

  async function openShared(key: string, { plan, address, stale }: Wanted): Promise<StoredSession> {
    const stored = parse(await storage.get(key))
    if (stored && isUsable(stored, stale)) return stored
    const session = (stored && (await refresh(stored))) ?? (await signIn(plan, address))
    await storage.set(key, JSON.stringify(session))
    return session
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

  async function signIn(plan: Plan, address: string): Promise<StoredSession> {
    try {
      const { nonce, domains = [] } = await gateway.nonce(address)
      const { serviceName: name } = parts
      const audience = audienceOf(gateway.url, { page: currentPage(), accepted: domains, name })
      const issuedAt = new Date(now()).toISOString()
      const { ecosystem } = wallet
      const fields = { ecosystem, address, chainId: chainOfText(plan), nonce, issuedAt }
      const message = signInText(gateway.url, audience, fields)
      const tokens = await gateway.login({
        message,
        address,
        ...(await wallet.signText(message)),
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
    await storage.delete(key)
    if (stored === undefined || (await isEnded(stored))) return
    // The token has expired, and the refresh token may live on: the session ends with a new token.
    const renewed = await refresh(stored)
    if (renewed) await isEnded(renewed)
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

  function keyOf(address: string, { id }: Plan): string {
    return `sessions/${keyPart(gateway.url)}/${address.toLowerCase()}/${id}`
  }

  return {
    open,

    /** After the credits of the plans `tried` did not suffice: on another one, or on one of them to buy there. */
    async openOther(tried: ReadonlySet<number>): Promise<Session> {
      await plans.findOther(tried)
      return open()
    },

    /** The session of the same plan and account, after its token was refused. */
    renew: ({ plan, address, token }: Session) => openOn({ plan, address, stale: token }),

    /** Ends the session at the gateway, if there is one. */
    async end(): Promise<void> {
      const [plan, address] = await Promise.all([plans.find(), wallet.address()])
      const key = keyOf(address, plan)
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
  if (isRefusal && Math.abs(skew) > MAX_CLOCK_SKEW_MS) {
    const seconds = Math.round(Math.abs(skew) / 1000)
    const which = `The clock of this machine is ${seconds} seconds ${skew > 0 ? 'behind' : 'ahead of'} that of the server`
    return new TollgateError('CLOCK_WRONG', `${which}, which refused the sign-in: ${message}`, {
      cause: error,
    })
  }
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
