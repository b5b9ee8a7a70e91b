import { type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import {
  feeSharesByClient,
  createFeeLedger,
  isLimited,
  splitMaxFee,
  type DefaultShares,
  type Spender,
} from './fee-allowance'
import { type FeeShareStore } from './fee-share-store'
import { type Claim } from '../claims/claim'
import { type SigningStore } from './signing-store'

/** Maximum age of the figures for /verify. */
const SNAPSHOT_MS = 1_000

/** `sponsorship.fee` is granted for this payment alone. */
type BatchedClaim = { claim: Claim; sponsorship?: { fee: bigint } }

export type Verdict =
  | { isTaken: true }
  /** The transaction exceeds the network's daily fee limit. */
  | { isTaken: false; refusal: Refusal }
  /** These payments exceed the shares of their users or client keys; the transaction may be prepared without them. */
  | { isTaken: false; over: ReadonlyMap<Claim, Refusal> }

/** Of a network's fees. Holds the network's fee lock until the database transaction ends. */
export type Budget = {
  /** Undefined if a fee for the claim may fit. */
  findUsedUpRefusal(claim: Claim): Refusal | undefined
  /** Takes the maximum fee of a transaction, or nothing. */
  take(batch: readonly BatchedClaim[], cost: bigint): Verdict
  /** Records the client keys of a stored transaction. */
  record(batch: readonly BatchedClaim[], transaction: SignedTransaction & { cost: bigint }): Promise<void>
}

const UNLIMITED: Budget = {
  findUsedUpRefusal: () => undefined,
  take: () => ({ isTaken: true }),
  record: () => Promise.resolve(),
}

export type FeeBudget = ReturnType<typeof createFeeBudget>

/**
 * Limits a network's fees of 24 hours: a daily limit for all, of it a share for each user and each client key, and the caps of client
 * keys. Checked in the database, under one lock for each network, before anything is broadcast.
 */
export function createFeeBudget({ store, shares }: { store: FeeShareStore; shares: DefaultShares }) {
  const snapshots = new Map<string, { at: number; ledger: Promise<ReturnType<typeof createFeeLedger>> }>()

  function snapshot(network: string, dailyLimit: bigint | undefined) {
    const at = performance.now()
    const kept = snapshots.get(network)
    if (kept && at - kept.at < SNAPSHOT_MS) return kept.ledger
    const ledger = store.spent(network).then((spent) => createFeeLedger(dailyLimit, shares, spent))
    snapshots.set(network, { at, ledger })
    ledger.catch(() => snapshots.delete(network))
    return ledger
  }

  return {
    /** The refusal of any fee for this spender, by figures at most SNAPSHOT_MS old; undefined if one may fit. */
    async check(
      { name, maxFeesPerDay: dailyLimit }: Network,
      spender: Spender,
    ): Promise<Refusal | undefined> {
      if (!isLimited(spender, dailyLimit, shares)) return undefined
      return (await snapshot(name, dailyLimit)).findUsedUpRefusal(spender)
    },

    async open(
      session: PoolClient,
      { name, maxFeesPerDay: dailyLimit }: Network,
      claims: readonly Claim[],
      { signing, logger }: { signing: SigningStore; logger: Logger },
    ): Promise<Budget> {
      if (claims.length === 0) return UNLIMITED
      const clientIds = [...new Set(claims.map(({ clientId }) => clientId))]
      const spenders = new Map(
        (await store.spenders(session, clientIds)).map((spender) => [spender.clientId, spender]),
      )
      const anyIsLimited = [...spenders.values()].some((spender) => isLimited(spender, dailyLimit, shares))
      if (dailyLimit === undefined && !anyIsLimited) return UNLIMITED
      let total = await signing.feesOfDay(session, name)
      const ledger = createFeeLedger(dailyLimit, shares, anyIsLimited ? await store.spent(name, session) : [])

      function spenderOf({ clientId }: Claim): Spender {
        const spender = spenders.get(clientId)
        if (!spender) throw new Error(`There is no client key ${clientId}`)
        return spender
      }

      /** The first payments of a batch get the room. */
      function takeParts(batch: readonly BatchedClaim[], cost: bigint) {
        const over = new Map<Claim, Refusal>()
        const taken: [Spender, bigint][] = []
        for (const { claim, part } of splitMaxFee(batch, cost)) {
          const spender = spenderOf(claim)
          const refusal = ledger.findRefusal(spender, part)
          if (refusal) over.set(claim, refusal)
          else {
            ledger.take(spender, part)
            taken.push([spender, part])
          }
        }
        return { over, undo: () => taken.forEach(([spender, part]) => ledger.take(spender, -part)) }
      }

      return {
        findUsedUpRefusal: (claim) => ledger.findUsedUpRefusal(spenderOf(claim)),

        take(batch, cost) {
          const { over, undo } = takeParts(batch, cost)
          if (over.size > 0) {
            undo()
            return { isTaken: false, over }
          }
          if (dailyLimit !== undefined && total + cost > dailyLimit) {
            undo()
            logger.error('daily fee limit reached', { spent: total, needed: cost, limit: dailyLimit })
            const detail = `fees of ${total} and ${cost} would pass ${dailyLimit} a day`
            return { isTaken: false, refusal: { reason: 'unexpected_settle_error', detail } }
          }
          total += cost
          return { isTaken: true }
        },

        async record(batch, { hash, cost }) {
          if (cost === 0n) return
          const parts = splitMaxFee(batch, cost).map(({ claim, part }) => ({
            clientId: claim.clientId,
            part,
          }))
          await store.record(session, hash, feeSharesByClient(parts))
        },
      }
    },
  }
}
