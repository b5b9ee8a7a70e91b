import { ApiError, createLimiter, type EphemeralStore, type Limiter, type Logger } from '@tollgate/service'
import { type Environment } from '../config'

/** A new payment, before it is stored. */
export type Applicant = {
  wallet: string
  /** Of the caller; see `addressKey`. */
  address: string
  /** Whether a payment of the wallet was credited before. */
  isCustomer: boolean
  /** Whether its signature was checked here: what is not can be made up at no cost. */
  isProven: boolean
  /** Payments of the wallet whose outcome is not known. */
  open: number
}

/** Parts of `FACILITATOR_REQUESTS_PER_MINUTE`: the rest, a quarter at least, is always left to wallets that have paid before. */
const SHARES = { wallet: 0.1, address: 0.1, newcomers: 0.5, unproven: 0.25, retries: 0.25 }
/** Of the payments of a wallet, those whose signature only the chain can check. */
const UNPROVEN_PART = 1 / 3
const OPEN_RETRY_SECONDS = 10

export type Admission = ReturnType<typeof createAdmission>

/**
 * Shares the rate of the facilitator's client key out, so that no wallet and no address uses it up: over all replicas, by
 * windows of a minute.
 */
export function createAdmission(parts: {
  store: EphemeralStore
  logger: Logger
  limits: Pick<Environment, 'RATE_LIMIT_PAYMENTS_PER_MINUTE' | 'FACILITATOR_REQUESTS_PER_MINUTE'>
}) {
  const { store, logger, limits } = parts
  const total = limits.FACILITATOR_REQUESTS_PER_MINUTE
  const shareOf = (part: number) => Math.max(1, Math.floor(total * part))
  const limiter = (name: string, points: number) =>
    createLimiter({ store, logger, name, points, durationSeconds: 60 })

  const walletPoints = Math.min(limits.RATE_LIMIT_PAYMENTS_PER_MINUTE, shareOf(SHARES.wallet))
  const ofWallet = limiter('payments', walletPoints)
  const unprovenOfWallet = limiter('payments-unproven', Math.max(1, Math.floor(walletPoints * UNPROVEN_PART)))
  const newcomersOfAddress = limiter('payments-newcomers', shareOf(SHARES.address))
  const newcomers = limiter('facilitator-newcomers', shareOf(SHARES.newcomers))
  const unproven = limiter('facilitator-unproven', shareOf(SHARES.unproven))
  const retries = limiter('facilitator-retries', shareOf(SHARES.retries))
  const all = limiter('facilitator', total)

  return {
    /**
     * The narrowest limit first, so that what it refuses takes nothing of a share of others.
     *
     * @throws ApiError RATE_LIMITED for a wallet or an address over its limit, OVERLOADED where a shared limit is used up;
     *   nothing was stored or asked
     */
    async admit({ wallet, address, isCustomer, isProven, open }: Applicant): Promise<void> {
      if (open >= walletPoints) throw tooManyOpen(open)
      await ofWallet(wallet)
      if (!isProven) await unprovenOfWallet(wallet)
      if (!isCustomer) {
        await newcomersOfAddress(address)
        await shared(newcomers)
      }
      if (!isProven) await shared(unproven)
    },

    /** Takes one request to the facilitator; where there is none left, the seconds until there is. */
    async takeRequest({ isRetry }: { isRetry: boolean }): Promise<number | undefined> {
      return (isRetry ? await secondsUntil(retries) : undefined) ?? (await secondsUntil(all))
    },
  }
}

const tooManyOpen = (open: number) =>
  new ApiError(
    'RATE_LIMITED',
    `${open} payments of this wallet are still being settled; wait for one of them before you send another`,
    { retryAfterSeconds: OPEN_RETRY_SECONDS },
  )

const EVERYONE = 'all'

async function shared(limit: Limiter): Promise<void> {
  const retryAfterSeconds = await secondsUntil(limit)
  if (retryAfterSeconds !== undefined)
    throw new ApiError('OVERLOADED', 'Too many payments arrive at present; nothing was charged, try again', {
      retryAfterSeconds,
    })
}

async function secondsUntil(limit: Limiter): Promise<number | undefined> {
  try {
    await limit(EVERYONE)
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RATE_LIMITED') return error.retryAfterSeconds ?? 1
    throw error
  }
}
