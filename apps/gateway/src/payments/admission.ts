import { ApiError, createLimiter, type EphemeralStore, type Limiter, type Logger } from '@tollgate/service'
import { type Environment } from '../config'

export type NewPayment = {
  wallet: string
  address: string
  isCustomer: boolean
  /** The gateway verified the signature; an unverified one costs nothing to forge. */
  isVerified: boolean
  open: number
}

/** Shares of FACILITATOR_REQUESTS_PER_MINUTE. At least a quarter remains for wallets that have paid before. */
const SHARES = { wallet: 0.1, address: 0.1, newcomers: 0.5, unproven: 0.25, retries: 0.25 }
/** Share of a wallet's payments whose signature only the chain can verify. */
const UNVERIFIED_SHARE = 1 / 3
const OPEN_RETRY_SECONDS = 10

export type Admission = ReturnType<typeof createAdmission>

/** Divides the rate limit of the facilitator's client key, over all replicas, so that no wallet or address uses it up. */
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
  const walletLimit = limiter('payments', walletPoints)
  const unverifiedWalletLimit = limiter(
    'payments-unproven',
    Math.max(1, Math.floor(walletPoints * UNVERIFIED_SHARE)),
  )
  const newcomerAddressLimit = limiter('payments-newcomers', shareOf(SHARES.address))
  const newcomerLimit = limiter('facilitator-newcomers', shareOf(SHARES.newcomers))
  const unverifiedLimit = limiter('facilitator-unproven', shareOf(SHARES.unproven))
  const retryLimit = limiter('facilitator-retries', shareOf(SHARES.retries))
  const totalLimit = limiter('facilitator', total)

  return {
    /**
     * Checks the narrowest limit first, so that a refused payment does not use up a shared one.
     *
     * @throws ApiError RATE_LIMITED for a wallet or address over its limit, OVERLOADED if a shared limit is used up
     */
    async admit({ wallet, address, isCustomer, isVerified, open }: NewPayment): Promise<void> {
      if (open >= walletPoints) throw tooManyOpen(open)
      await walletLimit(wallet)
      if (!isVerified) await unverifiedWalletLimit(wallet)
      if (!isCustomer) {
        await newcomerAddressLimit(address)
        await takeShared(newcomerLimit)
      }
      if (!isVerified) await takeShared(unverifiedLimit)
    },

    async takeRequest({ isRetry }: { isRetry: boolean }): Promise<number | undefined> {
      return (isRetry ? await secondsUntil(retryLimit) : undefined) ?? (await secondsUntil(totalLimit))
    },
  }
}

const tooManyOpen = (open: number) =>
  new ApiError(
    'RATE_LIMITED',
    `${open} payments of this wallet are still being settled; wait for one of them before you send another`,
    { retryAfterSeconds: OPEN_RETRY_SECONDS },
  )

const ALL_USERS = 'all'

async function takeShared(limit: Limiter): Promise<void> {
  const retryAfterSeconds = await secondsUntil(limit)
  if (retryAfterSeconds !== undefined)
    throw new ApiError('OVERLOADED', 'Too many payments arrive at present; nothing was charged, try again', {
      retryAfterSeconds,
    })
}

async function secondsUntil(limit: Limiter): Promise<number | undefined> {
  try {
    await limit(ALL_USERS)
    return undefined
  } catch (error) {
    if (error instanceof ApiError && error.code === 'RATE_LIMITED') return error.retryAfterSeconds ?? 1
    throw error
  }
}
