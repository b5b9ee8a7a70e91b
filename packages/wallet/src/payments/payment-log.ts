import * as v from 'valibot'
import { TollgateError } from '../errors.js'
import { isSameAsset } from '../limits.js'
import { type WalletStorage } from '../storage/storage.js'

/**
 * `open`: signed, and not known to have ended. `paid`: taken. `void`: expired without being taken. `unknown`: expired, and it
 * may have been taken. `refused`: by a resource server, which could still use it. `disputed`: an operator decides.
 */
const State = v.picklist(['open', 'paid', 'void', 'unknown', 'refused', 'disputed'])

const Digits = v.pipe(v.string(), v.regex(/^[0-9]+$/))

const StoredPayment = v.object({
  /** Its place in the log of its payer. */
  position: v.number(),
  id: v.string(),
  payer: v.string(),
  /** What it is for. */
  purpose: v.string(),
  url: v.string(),
  network: v.string(),
  asset: v.string(),
  payTo: v.string(),
  amount: Digits,
  /** What the payer bears beside it, in units of an asset of the same network. */
  fee: v.optional(v.object({ asset: v.string(), amount: Digits })),
  /** Of its purpose, no other payment is signed while it is open. */
  isSingle: v.optional(v.boolean()),
  /** In Unix milliseconds. */
  signedAt: v.number(),
  endedAt: v.optional(v.number()),
  /** In Unix seconds. */
  validUntil: v.optional(v.number()),
  nonce: v.optional(v.string()),
  /** The last answer to it was a refusal. */
  isRefused: v.optional(v.boolean()),
  /** The signed payment, as it is sent; gone when the payment has ended. */
  header: v.optional(v.record(v.string(), v.string())),
  state: State,
  transaction: v.optional(v.string()),
})
export type StoredPayment = v.InferOutput<typeof StoredPayment>

export type NewPayment = Omit<StoredPayment, 'position' | 'state' | 'endedAt' | 'transaction' | 'isRefused'>

export type PaymentLog = ReturnType<typeof createPaymentLog>

const DAY_MS = 86_400_000
const KEPT_MS = 3 * DAY_MS

/**
 * The signed payments of a wallet, in the order of their signatures. A position is written once, by `create` of the storage, so
 * two tabs or processes that decide on the same log cannot both add to it.
 */
export function createPaymentLog(storage: WalletStorage, now: () => number) {
  const ended = new Map<string, StoredPayment>()
  const prefixOf = (payer: string) => `payments/${payer.toLowerCase()}/`
  const keyOf = ({ payer, position }: Pick<StoredPayment, 'payer' | 'position'>) =>
    `${prefixOf(payer)}${String(position).padStart(10, '0')}`

  async function read(key: string): Promise<StoredPayment | undefined> {
    const known = ended.get(key)
    if (known) return known
    const text = await storage.get(key)
    if (text === undefined) return undefined
    const payment = parse(key, text)
    if (payment.state !== 'open') ended.set(key, payment)
    return payment
  }

  return {
    async list(payer: string): Promise<StoredPayment[]> {
      const payments = await Promise.all((await storage.list(prefixOf(payer))).map(read))
      return payments.filter((payment) => payment !== undefined)
    },

    /** Adds to a log that was read as `known`; false, and nothing is added, if it has changed since. */
    async append(known: readonly StoredPayment[], payment: NewPayment): Promise<StoredPayment | false> {
      const position = (known.at(-1)?.position ?? 0) + 1
      const stored: StoredPayment = { ...payment, position, state: 'open' }
      const isCreated = await storage.create(keyOf(stored), JSON.stringify(stored))
      if (isCreated) ended.delete(keyOf(stored))
      return isCreated ? stored : false
    },

    /** Of an open payment. */
    async setRefused(payment: StoredPayment, isRefused: boolean): Promise<void> {
      await storage.set(keyOf(payment), JSON.stringify({ ...payment, isRefused }))
    },

    async end(
      payment: StoredPayment,
      state: Exclude<StoredPayment['state'], 'open'>,
      transaction?: string,
    ): Promise<StoredPayment> {
      const { header, ...rest } = payment
      const done: StoredPayment = {
        ...rest,
        state,
        endedAt: now(),
        ...(transaction === undefined ? {} : { transaction }),
      }
      await storage.set(keyOf(payment), JSON.stringify(done))
      ended.set(keyOf(payment), done)
      return done
    },

    /**
     * Deletes what no limit counts and no request needs any more. The last one stays: the next position follows from it; so do
     * open payments that block others.
     */
    async prune(payments: readonly StoredPayment[]): Promise<void> {
      for (const payment of payments.slice(0, -1)) {
        if (!isOld(payment, now())) continue
        await storage.delete(keyOf(payment))
        ended.delete(keyOf(payment))
      }
    },
  }
}

function isOld(payment: StoredPayment, now: number): boolean {
  const time = lastUse(payment)
  return time !== undefined && time <= now - KEPT_MS
}

/** In Unix milliseconds; undefined for an open payment that has no end, or that blocks others. */
function lastUse({ state, isSingle, signedAt, endedAt, validUntil }: StoredPayment): number | undefined {
  if (state !== 'open') return endedAt ?? signedAt
  return isSingle || validUntil === undefined ? undefined : validUntil * 1000
}

function parse(key: string, text: string): StoredPayment {
  try {
    return v.parse(StoredPayment, JSON.parse(text))
  } catch (cause) {
    throw new TollgateError(
      'STORAGE_FAILED',
      `The stored payment ${key} cannot be read; nothing is paid until it is repaired or removed`,
      { cause },
    )
  }
}

type Asset = { network: string; asset: string }

/**
 * What was signed of an asset on the day of `now` (UTC), with fees, in smallest units. Whatever its state is: who received a
 * signed payment may have taken it, and only the chain could tell.
 */
export function signedOn(payments: readonly StoredPayment[], asset: Asset, now: number): bigint {
  const midnight = now - (now % DAY_MS)
  return signedOf(
    payments.filter(({ signedAt }) => signedAt >= midnight),
    asset,
  )
}

/** Of an asset, with fees, in smallest units. */
export function signedOf(payments: readonly StoredPayment[], asset: Asset): bigint {
  const amounts = payments.flatMap(({ network, fee, ...payment }) => [
    { ...payment, network },
    ...(fee ? [{ ...fee, network }] : []),
  ])
  return amounts.reduce((sum, each) => (isSameAsset(each, asset) ? sum + BigInt(each.amount) : sum), 0n)
}

/** For the clocks of the chain and of this machine to differ. */
export const CLOCK_SKEW_SECONDS = 60

/** The Unix second at which a payment that is open ends by itself; undefined if it has no end. */
export const openUntil = ({ validUntil }: Pick<StoredPayment, 'validUntil'>): number | undefined =>
  validUntil === undefined ? undefined : validUntil + CLOCK_SKEW_SECONDS

/**
 * Whether no chain takes the payment any more, by this machine's clock and by the server's, if that is known: either may be ahead.
 * Both are in Unix milliseconds.
 */
export function isExpired(
  { validUntil }: Pick<StoredPayment, 'validUntil'>,
  now: number,
  serverTime?: unknown,
): boolean {
  const earlier = typeof serverTime === 'number' ? Math.min(now, serverTime) : now
  return validUntil !== undefined && earlier / 1000 > validUntil + CLOCK_SKEW_SECONDS
}
