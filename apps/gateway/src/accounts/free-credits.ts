import { withTransaction, type GatewayDatabase } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Environment } from '../config'
import {
  GIVE_TO_ADDRESS,
  GIVE_TO_WALLET,
  LOCK_DAY,
  READ_LEFT,
  walletOfShare,
  type AddressGift,
  type FreeLeft,
  type WalletGift,
} from './free-credits-sql'
import { type LedgerMetrics } from './ledger-metrics'

export type FreeLimits = Pick<
  Environment,
  'FREE_CREDITS_PER_WALLET' | 'FREE_CREDITS_PER_ADDRESS' | 'FREE_CREDITS_PER_DAY'
>

/** The share of an address that covers a call. `left`: what the address can still be given today. */
export type FreeShare = { id: string; wallet: string; left: bigint }

/** A call that is given back is served again within this time. */
const USED_UP_TTL_MS = 10_000
const MAX_REMEMBERED = 10_000

export type FreeCredits = ReturnType<typeof createFreeCredits>

/**
 * Credits that cost nothing: for a wallet that signs in for the first time, and for calls by plain URLs without credentials, by network
 * address. They are on plan 0, apart from what is bought. Postgres decides under the lock of the day, so that neither many requests nor
 * many replicas exceed a limit; a read before it spares those that get nothing the wait.
 */
export function createFreeCredits(parts: {
  database: Pick<GatewayDatabase, 'pool'>
  limits: FreeLimits
  metrics: Pick<LedgerMetrics, 'given'>
  logger: Logger
}) {
  const { database, limits, metrics, logger } = parts
  const perWallet = limits.FREE_CREDITS_PER_WALLET
  const perAddress = limits.FREE_CREDITS_PER_ADDRESS
  const perDay = limits.FREE_CREDITS_PER_DAY
  /** Addresses that nothing was left for: their requests are asked to pay before a body is read. */
  const usedUp = new LRUCache<string, true>({ max: MAX_REMEMBERED, ttl: USED_UP_TTL_MS })

  async function readLeft(address: Buffer, wallet: string | null): Promise<FreeLeft> {
    const values = [address, perAddress || null, perDay, wallet]
    const { rows } = await database.pool.query<FreeLeft>({ name: 'free-left', text: READ_LEFT, values })
    return rows[0] ?? { left: 0n, balance: 0n, isNew: false }
  }

  async function giveLocked<Gift extends WalletGift | AddressGift>(statement: {
    name: string
    text: string
    values: unknown[]
  }): Promise<Gift | undefined> {
    const { rows } = await withTransaction(database.pool, async (client) => {
      await client.query({ name: 'lock-free-day', text: LOCK_DAY })
      return client.query<Gift>(statement)
    })
    metrics.given.inc(Number(rows[0]?.credits ?? 0n))
    return rows[0]
  }

  /** One connection waits for the lock: paid calls need the others. */
  let latest: Promise<unknown> = Promise.resolve()
  function give<Gift extends WalletGift | AddressGift>(statement: Parameters<typeof giveLocked>[0]) {
    const gift = latest.then(() => giveLocked<Gift>(statement))
    latest = gift.catch(() => undefined)
    return gift
  }

  async function giveToWallet(wallet: string, address: Buffer): Promise<void> {
    const { left, isNew } = await readLeft(address, wallet)
    if (!isNew || left === 0n) return
    const values = [wallet, address, perWallet, perAddress || null, perDay]
    await give<WalletGift>({ name: 'give-to-wallet', text: GIVE_TO_WALLET, values })
  }

  async function giveToAddress(address: string, cost: number): Promise<FreeShare | undefined> {
    const hash = hashOf(address)
    const { left, balance } = await readLeft(hash, null)
    if (left + balance === 0n) usedUp.set(address, true)
    if (left + balance < BigInt(cost)) return undefined
    const values = [hash, cost, perAddress, perDay]
    const gift = await give<AddressGift>({ name: 'give-to-address', text: GIVE_TO_ADDRESS, values })
    if (!gift || gift.id === null) return undefined
    return { id: gift.id, wallet: walletOfShare(gift.id), left: gift.left }
  }

  const failed = (error: unknown) => void logger.warn('free credits not given', { error })

  return {
    /** What a wallet, and a network address in a day, get; 0 for nothing. */
    perWallet,
    perAddress,

    /** Idempotent. Never rejects: a sign-in does not depend on it. `address` of the client. */
    async giveToWallet(wallet: string, address: string): Promise<void> {
      if (perWallet > 0) await giveToWallet(wallet, hashOf(address)).catch(failed)
    },

    /** Whether a call of this address may be free: false only if there was nothing left for it seconds ago. */
    mayServe: (address: string): boolean => perAddress > 0 && !usedUp.has(address),

    /** Makes the share of an address cover a call. Undefined if too little is left for it, or if Postgres fails. */
    async giveToAddress(address: string, cost: number): Promise<FreeShare | undefined> {
      return perAddress > 0 ? await giveToAddress(address, cost).catch(failed) : undefined
    },
  }
}

const hashOf = (address: string) => createHash('sha256').update(address).digest()
