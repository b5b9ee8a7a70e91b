import { type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import {
  allocationsByClient,
  createFeeLedger,
  isLimited,
  allocateFee,
  type DefaultShares,
  type Spender,
} from './fee-allowance'
import { type FeeShareStore } from './fee-share-store'
import { type Claim } from '../claims/claim'
import { type SigningStore } from './signing-store'

/** How old the figures may be that /verify decides by. */
const SNAPSHOT_MS = 1_000

/** A payment that is to go at our cost; `sponsorship.fee` is what is allowed for it alone. */
type Cost = { claim: Claim; sponsorship?: { fee: bigint } }

export type Verdict =
  | { isTaken: true }
  /** The network's own cap has no room for the transaction. */
  | { isTaken: false; refusal: Refusal }
  /** These have no room in the shares of their users and keys; the transaction may go without them. */
  | { isTaken: false; over: ReadonlyMap<Claim, Refusal> }

/** What may be spent on a network's fees. Holds the network's fee lock until the database transaction ends. */
export type Budget = {
  /** Why nothing goes at our cost for the claim; undefined where something may. */
  isUsedUp(claim: Claim): Refusal | undefined
  /** Takes what a transaction may cost, or nothing. */
  take(batch: readonly Cost[], cost: bigint): Verdict
  /** Writes down for whom the transaction is, once it is stored. */
  record(batch: readonly Cost[], transaction: SignedTransaction & { cost: bigint }): Promise<void>
}

export const UNCAPPED: Budget = {
  isUsedUp: () => undefined,
  take: () => ({ isTaken: true }),
  record: () => Promise.resolve(),
}

export type FeeBudget = ReturnType<typeof createFeeBudget>

/**
 * Divides the fees that a network may cost in 24 hours: a cap for all, and of it a share for each user and each client key.
 * The database decides, under a lock for each network, before anything is sent.
 */
export function createFeeBudget({ store, shares }: { store: FeeShareStore; shares: DefaultShares }) {
  const snapshots = new Map<string, { at: number; ledger: Promise<ReturnType<typeof createFeeLedger>> }>()

  function snapshot(network: string, cap: bigint) {
    const at = performance.now()
    const kept = snapshots.get(network)
    if (kept && at - kept.at < SNAPSHOT_MS) return kept.ledger
    const ledger = store.spent(network).then((spent) => createFeeLedger(cap, shares, spent))
    snapshots.set(network, { at, ledger })
    ledger.catch(() => snapshots.delete(network))
    return ledger
  }

  return {
    /** Why no payment goes at our cost for this spender, as of a second ago at most. */
    async check({ name, maxFeesPerDay: cap }: Network, spender: Spender): Promise<Refusal | undefined> {
      if (cap === undefined || !isLimited(spender, shares)) return undefined
      return (await snapshot(name, cap)).isUsedUp(spender)
    },

    /** The budget for these claims, until the transaction that is open on `session` ends. */
    async open(
      session: PoolClient,
      { name, maxFeesPerDay: cap }: Network,
      claims: readonly Claim[],
      { signing, logger }: { signing: SigningStore; logger: Logger },
    ): Promise<Budget> {
      if (cap === undefined || claims.length === 0) return UNCAPPED
      let total = await signing.feesOfDay(session, name)
      const clientIds = [...new Set(claims.map(({ clientId }) => clientId))]
      const spenders = new Map(
        (await store.spenders(session, clientIds)).map((spender) => [spender.clientId, spender]),
      )
      const anyIsLimited = [...spenders.values()].some((spender) => isLimited(spender, shares))
      const ledger = createFeeLedger(cap, shares, anyIsLimited ? await store.spent(name, session) : [])

      function spenderOf({ clientId }: Claim): Spender {
        const spender = spenders.get(clientId)
        if (!spender) throw new Error(`There is no client key ${clientId}`)
        return spender
      }

      /** Those that come first in a batch have what room there is. */
      function takeParts(batch: readonly Cost[], parts: readonly bigint[]) {
        const over = new Map<Claim, Refusal>()
        const taken: [Spender, bigint][] = []
        for (const [index, { claim }] of batch.entries()) {
          const [spender, part] = [spenderOf(claim), parts[index] ?? 0n]
          const refusal = ledger.lacksRoom(spender, part)
          if (refusal) over.set(claim, refusal)
          else {
            ledger.take(spender, part)
            taken.push([spender, part])
          }
        }
        return { over, undo: () => taken.forEach(([spender, part]) => ledger.take(spender, -part)) }
      }

      return {
        isUsedUp: (claim) => ledger.isUsedUp(spenderOf(claim)),

        take(batch, cost) {
          const { over, undo } = takeParts(batch, allocateFee(batch, cost))
          if (over.size > 0) {
            undo()
            return { isTaken: false, over }
          }
          if (total + cost > cap) {
            undo()
            logger.error('the fees of the day have come to their cap', { spent: total, needed: cost, cap })
            const detail = `fees of ${total} and ${cost} would pass ${cap} a day`
            return { isTaken: false, refusal: { reason: 'unexpected_settle_error', detail } }
          }
          total += cost
          return { isTaken: true }
        },

        async record(batch, { hash, cost }) {
          if (cost === 0n) return
          const parts = allocateFee(batch, cost).map((part, index) => ({
            clientId: batch[index]?.claim.clientId ?? '',
            part,
          }))
          await store.record(session, hash, allocationsByClient(parts))
        },
      }
    },
  }
}
