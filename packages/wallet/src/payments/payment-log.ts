import * as v from 'valibot'
import { TollgateError } from '../errors.js'
import { isSameAsset } from '../limits.js'
import { type WalletStorage } from '../storage/storage.js'

/**
 * `open`: signed, and not known to have ended. `paid`: taken. `void`: expired without being taken. `unknown`: expired, and it
 * may have been taken. `refused`: by a resource server, which could still use it. `disputed`: an operator decides.
 */
const State = v.picklist(['open', 'paid', 'void', 'unknown', 'refused', 'disputed'])

const StoredPayment = v.object({
  /** Its place in the log of its payer. */
  position: v.number(),
  id: v.string(),
  payer: v.string(),
  /** What it is for. Of one purpose, at most one payment for credits is open. */
  purpose: v.string(),
  url: v.string(),
  network: v.string(),
  asset: v.string(),
  payTo: v.string(),
  amount: v.pipe(v.string(), v.regex(/^[0-9]+$/)),
  /** In Unix milliseconds. */
  signedAt: v.number(),
  endedAt: v.optional(v.number()),
  /** In Unix seconds. */
  validUntil: v.optional(v.number()),
  /** The signed payment, as it is sent; gone when the payment has ended. */
  header: v.optional(v.record(v.string(), v.string())),
  state: State,
  transaction: v.optional(v.string()),
})
export type StoredPayment = v.InferOutput<typeof StoredPayment>

export type NewPayment = Omit<StoredPayment, 'position' | 'state' | 'endedAt' | 'transaction'>

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
      return (await storage.create(keyOf(stored), JSON.stringify(stored))) ? stored : false
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

    /** Deletes what no limit counts any more. The last one stays: the next position follows from it. */
    async prune(payments: readonly StoredPayment[]): Promise<void> {
      for (const payment of payments.slice(0, -1)) {
        const { state, endedAt = 0 } = payment
        if (state === 'open' || endedAt > now() - KEPT_MS) continue
        await storage.delete(keyOf(payment))
        ended.delete(keyOf(payment))
      }
    },
  }
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

/**
 * What was signed of an asset on the day of `now` (UTC), in smallest units. Whatever its state is: who received a signed payment
 * may have taken it, and only the chain could tell.
 */
export function signedOn(
  payments: readonly StoredPayment[],
  asset: { network: string; asset: string },
  now: number,
): bigint {
  const midnight = now - (now % DAY_MS)
  return sumOf(payments.filter((payment) => payment.signedAt >= midnight && isSameAsset(payment, asset)))
}

export const sumOf = (payments: readonly Pick<StoredPayment, 'amount'>[]): bigint =>
  payments.reduce((sum, { amount }) => sum + BigInt(amount), 0n)

/** For the clocks of the chain and of this machine to differ. */
const CLOCK_SKEW_SECONDS = 60

/** Whether no chain takes the payment any more. */
export const isExpired = ({ validUntil }: Pick<StoredPayment, 'validUntil'>, now: number): boolean =>
  validUntil !== undefined && now / 1000 > validUntil + CLOCK_SKEW_SECONDS
