import { type Payment, type Refusal, type SignedTransaction } from '@tollgate/chains'
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
import { createGrantBudget, isWait, type GrantRequest, type Wait } from './grant-budget'
import { type GrantStore } from './grant-store'
import { type Claim } from '../claims/claim'
import { type SigningStore } from './signing-store'

/** Maximum age of the figures for /verify. */
const SNAPSHOT_MS = 1_000

/** `sponsorship.fee` is granted for this payment alone, unless it was granted before. */
type BatchedClaim = {
  claim: Claim
  payment: Pick<Payment, 'countersigned'>
  sponsorship?: { fee: bigint; isReady: boolean }
}

export type Verdict =
  | { isTaken: true }
  /** The transaction exceeds the network's daily fee limit. */
  | { isTaken: false; refusal: Refusal }
  /** These payments exceed what their users, client keys or payers may spend now; the transaction may be prepared without them. */
  | { isTaken: false; over: ReadonlyMap<Claim, Refusal | Wait> }

/** Of a network's fees. Holds the network's fee lock until the database transaction ends. */
export type Budget = {
  /** Undefined if a fee for the payment may fit. */
  findUsedUp(one: BatchedClaim): Refusal | Wait | undefined
  /** Takes the maximum fee of a transaction, or nothing. */
  take(batch: readonly BatchedClaim[], cost: bigint): Verdict
  /** Records the client keys and the grants of a stored transaction. */
  record(batch: readonly BatchedClaim[], transaction: SignedTransaction & { cost: bigint }): Promise<void>
}

const UNLIMITED: Budget = {
  findUsedUp: () => undefined,
  take: () => ({ isTaken: true }),
  record: () => Promise.resolve(),
}

export type FeeBudget = ReturnType<typeof createFeeBudget>

/**
 * Limits a network's fees of 24 hours: a daily limit for all, of it a share for each user and each client key, and the caps of client
 * keys. Checked in the database, under one lock for each network, before anything is broadcast.
 */
export function createFeeBudget({
  store,
  grants,
  shares,
}: {
  store: FeeShareStore
  grants: GrantStore
  shares: DefaultShares
}) {
  const ledgerOf = createSnapshots(async ({ name, maxFeesPerDay }) =>
    createFeeLedger(maxFeesPerDay, shares, await store.spent(name)),
  )
  const grantBudgetOf = createSnapshots(async ({ name, maxFeesPerDay }) =>
    createGrantBudget(maxFeesPerDay, shares, await grants.unused(name)),
  )

  /** Holds the fee lock, which `open` took. */
  async function openGrants(
    session: PoolClient,
    { name, maxFeesPerDay }: Network,
    granted: readonly Claim[],
    spenderOf: (claim: Claim) => Spender,
  ) {
    const regranted = granted.map(({ id }) => id)
    const [unused, proven] =
      granted.length === 0
        ? [[], []]
        : [
            await grants.unused(name, regranted, session),
            await grants.proven(name, granted, regranted, session),
          ]
    const budget = createGrantBudget(maxFeesPerDay, shares, unused)
    const isUnproven = ({ payer, clientId }: Claim) =>
      !proven.some((one) => one.payer === payer && one.clientId === clientId)
    const requestOf = ({ claim, payment }: BatchedClaim, cost: bigint): GrantRequest => ({
      spender: spenderOf(claim),
      isGrant: payment.countersigned === undefined,
      isUnproven: isUnproven(claim),
      cost,
    })
    return { ...budget, requestOf }
  }

  return {
    /** The refusal of any fee for this spender, by figures at most SNAPSHOT_MS old; undefined if one may fit. */
    async check(network: Network, spender: Spender): Promise<Refusal | undefined> {
      if (!isLimited(spender, network.maxFeesPerDay, shares)) return undefined
      return (await ledgerOf(network)).findUsedUpRefusal(spender)
    },

    /** The refusal of a grant of at least `cost` for this payer, by figures of the same age. */
    async checkGrant(
      network: Network,
      spender: Spender,
      { payer, ...wanted }: Pick<GrantRequest, 'isGrant' | 'cost'> & { payer: string },
    ): Promise<Refusal | undefined> {
      const budget = await grantBudgetOf(network)
      const refusalOf = (isUnproven: boolean) => {
        const problem = budget.findProblem({ spender, isUnproven, ...wanted })
        return problem && !isWait(problem) ? problem : undefined
      }
      const refusal = refusalOf(false)
      if (refusal || !refusalOf(true)) return refusal
      const [proven] = await grants.proven(network.name, [{ payer, clientId: spender.clientId }])
      return proven ? undefined : refusalOf(true)
    },

    async open(
      session: PoolClient,
      network: Network,
      pending: readonly BatchedClaim[],
      { signing, logger }: { signing: SigningStore; logger: Logger },
    ): Promise<Budget> {
      if (pending.length === 0) return UNLIMITED
      const { name, maxFeesPerDay: dailyLimit } = network
      const clientIds = [...new Set(pending.map(({ claim }) => claim.clientId))]
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
      const granted = pending.filter(needsGrant).map(({ claim }) => claim)
      const granting = await openGrants(session, network, granted, spenderOf)

      /** The first payments of a batch get the room. */
      function takeParts(batch: readonly BatchedClaim[], cost: bigint) {
        const over = new Map<Claim, Refusal | Wait>()
        const undoing: (() => void)[] = []
        for (const { part, ...one } of splitMaxFee(batch, cost)) {
          const spender = spenderOf(one.claim)
          const grant = needsGrant(one) ? granting.requestOf(one, part) : undefined
          const problem = ledger.findRefusal(spender, part) ?? (grant && granting.findProblem(grant))
          if (problem) {
            over.set(one.claim, problem)
            continue
          }
          ledger.take(spender, part)
          if (grant) granting.take(grant)
          undoing.push(() => {
            ledger.take(spender, -part)
            if (grant) granting.giveBack(grant)
          })
        }
        return { over, undo: () => undoing.forEach((undo) => undo()) }
      }

      return {
        findUsedUp: (one) =>
          ledger.findUsedUpRefusal(spenderOf(one.claim)) ??
          (needsGrant(one) ? granting.findProblem(granting.requestOf(one, wastableFee(one))) : undefined),

        take(batch, cost) {
          const { over, undo } = takeParts(batch, cost)
          if (over.size > 0) {
            undo()
            return { isTaken: false, over }
          }
          if (dailyLimit !== undefined && total + cost > dailyLimit) {
            undo()
            logger.error('daily fee limit reached', { spent: total, needed: cost, limit: dailyLimit })
            const detail = `fees of ${total} and ${cost} would pass ${dailyLimit} a day, in the smallest native unit`
            return { isTaken: false, refusal: { reason: 'unexpected_settle_error', detail } }
          }
          total += cost
          return { isTaken: true }
        },

        async record(batch, { hash, cost }) {
          if (cost === 0n) return
          const parts = splitMaxFee(batch, cost)
          const clientParts = parts.map(({ claim, part }) => ({ clientId: claim.clientId, part }))
          await store.record(session, hash, feeSharesByClient(clientParts))
          const recorded = parts.filter(needsGrant).map(({ part, ...one }) => {
            const { isUnproven } = granting.requestOf(one, part)
            return { settlementId: one.claim.id, clientId: one.claim.clientId, part, isUnproven }
          })
          if (recorded.length > 0) await grants.record(session, hash, recorded)
        },
      }
    },
  }
}

/** What the payer can waste: a fee that we grant, or pay by our signature for a transaction that may fail. */
const wastableFee = ({ payment: { countersigned }, sponsorship }: BatchedClaim): bigint =>
  countersigned?.fee ?? (sponsorship && !sponsorship.isReady ? sponsorship.fee : 0n)
const needsGrant = (one: BatchedClaim): boolean => wastableFee(one) > 0n

/** Reads the figures of a network at most once in SNAPSHOT_MS. */
function createSnapshots<T>(read: (network: Network) => Promise<T>) {
  const snapshots = new Map<string, { at: number; figures: Promise<T> }>()
  return (network: Network): Promise<T> => {
    const at = performance.now()
    const kept = snapshots.get(network.name)
    if (kept && at - kept.at < SNAPSHOT_MS) return kept.figures
    const figures = read(network)
    snapshots.set(network.name, { at, figures })
    figures.catch(() => snapshots.delete(network.name))
    return figures
  }
}
