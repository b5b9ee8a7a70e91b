import {
  checkSession,
  keepSession,
  pause,
  type Notifications,
  type Pool,
  type PoolClient,
} from '@tollgate/database'
import { type Logger, type Tracing } from '@tollgate/service'
import { type Network } from '../networks/network'
import { createBlockSchedule, MAX_TRACK_INTERVAL_MS, type BlockSchedule } from './block-schedule'
import { createWakeSignal } from './wake-signal'
import { createBroadcaster } from './signing/broadcaster'
import { type SettlementMetrics } from './metrics'
import { createSettlementSteps } from './settlement-steps'
import { createReportOutcome } from './report-outcome'
import { type FeeBudget } from './signing/fee-budget'
import { createTransactionTracker } from './transactions/track-transactions'
import { createReorgStore } from './reorgs/reorg-store'
import { createGapFiller } from './transactions/fill-gaps'
import { createStuckReplacer } from './transactions/replace-stuck'
import { createClaimSigner } from './signing/sign-claims'
import { createClaimStore } from './claims/claim-store'
import { leaderSessionName, signerLockName } from './signer-lock'
import { createSigningStore } from './signing/signing-store'
import { CLAIMED_CHANNEL } from './channels'
import { createTransactionStore } from './transactions/transaction-store'
import { createReorgMonitor } from './reorgs/reorg-monitor'

/** Notifications wake the settler; it polls as well, because one may be lost. */
const POLL_INTERVAL_MS = 1_000
const LOCK_RETRY_MS = 500
/** Postgres ends the session, and releases the lock, of a silent leader; one that runs polls each second. */
const IDLE_SESSION_TIMEOUT = '8s'
/** Claims that arrive just after a round share a transaction. */
const GATHER_MS = 60
const REORG_CHECK_INTERVAL_MS = 5_000

/**
 * Settles claims with one signer. Of all processes with the signer's key, one leads: its database session holds the signer's
 * lock. It commits what it signs on that session and broadcasts only what is stored, so a leader that lost the lock can
 * neither store nor broadcast anything new.
 */
export function createSettler(parts: {
  network: Network
  signer: string
  /** The name of this process, which its session shows while it waits for the lock and holds it. */
  replica: string
  pool: Pool
  feeBudget: FeeBudget
  notifications: Notifications
  metrics: SettlementMetrics
  tracing: Tracing
  logger: Logger
  now: () => Date
}) {
  const { network, signer, replica, pool, feeBudget, notifications, metrics, now } = parts
  const steps = createSettlementSteps(parts.tracing, network.name)
  const logger = parts.logger.child({ network: network.name, signer })
  const claimStore = createClaimStore()
  const signing = createSigningStore(pool)
  const transactions = createTransactionStore(pool)
  const [first] = network.chain.signer.addresses
  const knownSigners = signer === first ? network.chain.signer.addresses : undefined
  const scope = { network: network.name, signer, knownSigners }
  const reportOutcome = createReportOutcome({ network: network.name, logger, metrics })
  const { send, isSending, drained } = createBroadcaster({ network, signing, steps, logger })
  const claimSigner = createClaimSigner({
    network,
    signer,
    claimStore,
    signing,
    feeBudget,
    send,
    reportOutcome,
    metrics,
    steps,
    logger,
    now,
  })
  const replaceStuck = createStuckReplacer({
    network,
    signer,
    claimStore,
    signing,
    transactions,
    send,
    metrics,
    logger,
  })
  const fillGaps = createGapFiller({ network, signer, signing, transactions, send, logger })
  const tracker = createTransactionTracker({
    network,
    scope,
    pool,
    claimStore,
    signing,
    transactions,
    isSending,
    reportOutcome,
    steps,
    logger,
  })
  const reorgMonitor = createReorgMonitor({ network, scope, store: createReorgStore(pool), metrics, logger })
  const signingWake = createWakeSignal()
  const trackingWake = createWakeSignal()
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let isLeader = false

  const unsubscribe = notifications.subscribe(CLAIMED_CHANNEL, (name) => {
    if (name === network.name) signingWake.wake()
  })

  async function lead(session: PoolClient, signal: AbortSignal): Promise<void> {
    await session.query(
      `SELECT set_config('idle_session_timeout', $1, false), set_config('application_name', $2, false)`,
      [IDLE_SESSION_TIMEOUT, leaderSessionName(replica)],
    )
    if (!(await acquireLock(session, signal))) return
    logger.info('signer lock acquired')
    const lost = new AbortController()
    const leading = AbortSignal.any([signal, lost.signal])
    const signingLoop = runSigningLoop(session, leading).finally(() => lost.abort())
    isLeader = true
    try {
      await Promise.all([signingLoop, runTrackingLoop(leading), runReorgLoop(leading)])
    } finally {
      isLeader = false
      await drained()
    }
  }

  async function acquireLock(session: PoolClient, signal: AbortSignal): Promise<boolean> {
    const name = signerLockName(network, signer)
    while (!signal.aborted) {
      const { rows } = await session.query<{ acquired: boolean }>(
        'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS acquired',
        [name],
      )
      if (rows[0]?.acquired) return true
      await checkSession(session)
      await pause(LOCK_RETRY_MS, signal)
    }
    return false
  }

  async function runSigningLoop(session: PoolClient, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const mayBeMore = await claimSigner.signClaims(session)
        if (mayBeMore) {
          trackingWake.wake()
          await pause(GATHER_MS, signal)
          continue
        }
        await replaceStuck(session)
        await fillGaps(session)
      } catch (error) {
        logger.warn('signing loop failed', { error })
      }
      // Throws if the session is gone, and the lock with it.
      await checkSession(session)
      await signingWake.wait(POLL_INTERVAL_MS, signal)
    }
  }

  async function runTrackingLoop(signal: AbortSignal): Promise<void> {
    const schedule = createBlockSchedule()
    while (!signal.aborted) {
      let hasOpen = true
      try {
        const { open, closed, head } = await tracker.trackSigned()
        // A resolved transaction makes room for another.
        if (closed > 0) signingWake.wake()
        hasOpen = open > 0
        schedule.tracked(head, performance.now())
      } catch (error) {
        logger.warn('tracking loop failed', { error })
        schedule.tracked(undefined, performance.now())
      }
      await untilNextBlock(schedule, { hasOpen, signal })
    }
  }

  /** Or until a transaction was sent, or the open ones have to be tracked again. */
  async function untilNextBlock(
    schedule: BlockSchedule,
    { hasOpen, signal }: { hasOpen: boolean; signal: AbortSignal },
  ): Promise<void> {
    let isDue = false
    while (!isDue && !signal.aborted) {
      const pauseMs = hasOpen ? schedule.nextPollMs(performance.now()) : MAX_TRACK_INTERVAL_MS
      const isSent = await trackingWake.wait(pauseMs, signal)
      if (isSent) schedule.sentTransaction(performance.now())
      isDue = isSent || !hasOpen || (await hasNewBlock(schedule))
    }
  }

  /** False if the node does not answer: tracking reports the error when it is due. */
  async function hasNewBlock(schedule: BlockSchedule): Promise<boolean> {
    if (schedule.isTrackingDue(performance.now())) return true
    try {
      return schedule.isNew(await network.chain.node.head(), performance.now())
    } catch {
      return false
    }
  }

  async function runReorgLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(REORG_CHECK_INTERVAL_MS, signal)
      try {
        if (await reorgMonitor.checkMined()) trackingWake.wake()
      } catch (error) {
        logger.warn('reorg loop failed', { error })
      }
    }
  }

  return {
    network: network.name,
    signer,
    isLeader: () => isLeader,

    begin() {
      running ??= keepSession(
        { pool, logger, purpose: `settler of ${signer}`, stopping: stopping.signal },
        lead,
      )
    },
    /** Finishes the current step and releases the lock; the next leader continues from the database. */
    async close() {
      unsubscribe()
      stopping.abort()
      await running
    },
  }
}
