import { keepSession, pause, type Notifications, type Pool, type PoolClient } from '@tollgate/database'
import { caip2 } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { createWakeSignal } from './wake-signal'
import { createBroadcaster } from './signing/broadcaster'
import { type SettlementMetrics } from './metrics'
import { createRecordOutcome } from './record-outcome'
import { type FeeBudget } from './signing/fee-budget'
import { createTransactionTracker } from './transactions/track-transactions'
import { createReorgStore } from './reorgs/reorg-store'
import { createStuckReplacer } from './transactions/replace-stuck'
import { createClaimSigner } from './signing/sign-claims'
import { createClaimStore } from './claims/claim-store'
import { createSigningStore } from './signing/signing-store'
import { CLAIMED_CHANNEL } from './channels'
import { createTransactionStore } from './transactions/transaction-store'
import { createReorgMonitor } from './reorgs/reorg-monitor'

/** Notices wake the settler; it looks for itself as well, because one may be lost. */
const POLL_INTERVAL_MS = 1_000
const LOCK_RETRY_MS = 500
/** Postgres ends the session, and with it the lock, of an owner that has gone silent for so long; one that lives looks each second. */
const SILENCE_LIMIT = '8s'
const TRACK_FIRST_MS = 50
const TRACK_LAST_MS = 2_000
const WATCH_MS = 5_000

/**
 * Carries out the settlements of one signer. Of all processes with that signer's key one at a time does so: the one whose
 * database session holds the signer's lock. What it signs is committed on that very session, so that an owner that has
 * lost the lock, and may not know it yet, can store nothing, and sends nothing that is not stored.
 */
export function createSettler(parts: {
  network: Network
  signer: string
  pool: Pool
  feeBudget: FeeBudget
  notifications: Notifications
  counts: SettlementMetrics
  logger: Logger
  now: () => Date
}) {
  const { network, signer, pool, feeBudget, notifications, counts, now } = parts
  const logger = parts.logger.child({ network: network.name, signer })
  const store = createClaimStore()
  const signing = createSigningStore(pool)
  const transactions = createTransactionStore(pool)
  const [first] = network.chain.signers
  const knownSigners = signer === first ? network.chain.signers : undefined
  const scope = { network: network.name, signer, knownSigners }
  const recordOutcome = createRecordOutcome({ network: network.name, logger, counts })
  const { send, isSending, drained } = createBroadcaster({ network, signing, logger })
  const sender = createClaimSigner({
    network,
    signer,
    store,
    signing,
    feeBudget,
    send,
    recordOutcome,
    counts,
    logger,
    now,
  })
  const replaceStuck = createStuckReplacer({
    network,
    signer,
    store,
    signing,
    transactions,
    send,
    counts,
    logger,
  })
  const tracker = createTransactionTracker({
    network,
    scope,
    pool,
    store,
    signing,
    transactions,
    isSending,
    recordOutcome,
    logger,
  })
  const watcher = createReorgMonitor({ network, scope, store: createReorgStore(pool), counts, logger })
  const claimed = createWakeSignal()
  const sent = createWakeSignal()
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let isOwner = false

  const unsubscribe = notifications.subscribe(CLAIMED_CHANNEL, (name) => {
    if (name === network.name) claimed.wake()
  })

  async function own(session: PoolClient, signal: AbortSignal): Promise<void> {
    await session.query(`SET idle_session_timeout = '${SILENCE_LIMIT}'`)
    if (!(await takeLock(session, signal))) return
    logger.info('signer lock acquired')
    const lost = new AbortController()
    const owning = AbortSignal.any([signal, lost.signal])
    const sending = runSigningLoop(session, owning).finally(() => lost.abort())
    isOwner = true
    try {
      await Promise.all([sending, runTrackingLoop(owning), runReorgLoop(owning)])
    } finally {
      isOwner = false
      await drained()
    }
  }

  async function takeLock(session: PoolClient, signal: AbortSignal): Promise<boolean> {
    const name = `settler ${caip2(network)} ${signer}`
    while (!signal.aborted) {
      const { rows } = await session.query<{ taken: boolean }>(
        'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken',
        [name],
      )
      if (rows[0]?.taken) return true
      await pause(LOCK_RETRY_MS, signal)
    }
    return false
  }

  async function runSigningLoop(session: PoolClient, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const mayBeMore = await sender.signClaims(session)
        if (mayBeMore) {
          sent.wake()
          continue
        }
        await replaceStuck(session)
      } catch (error) {
        logger.warn('settlements could not be sent; trying again', { error })
        // A session that is gone took the lock with it.
        await session.query('SELECT 1')
      }
      await claimed.wait(POLL_INTERVAL_MS, signal)
    }
  }

  async function runTrackingLoop(signal: AbortSignal): Promise<void> {
    let pauseMs = TRACK_FIRST_MS
    while (!signal.aborted) {
      try {
        const { open, closed } = await tracker.trackSigned()
        // What waited for room may go now.
        if (closed > 0) claimed.wake()
        pauseMs =
          open === 0 ? TRACK_LAST_MS : closed > 0 ? TRACK_FIRST_MS : Math.min(pauseMs * 1.5, TRACK_LAST_MS)
      } catch (error) {
        logger.warn('settlements could not be followed; trying again', { error })
      }
      if (await sent.wait(pauseMs, signal)) pauseMs = TRACK_FIRST_MS
    }
  }

  async function runReorgLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(WATCH_MS, signal)
      try {
        if (await watcher.checkMined()) sent.wake()
      } catch (error) {
        logger.warn('settlements could not be watched; trying again', { error })
      }
    }
  }

  return {
    network: network.name,
    signer,
    /** Whether this process carries out the settlements of the signer. */
    isOwner: () => isOwner,

    begin() {
      running ??= keepSession(
        { pool, logger, purpose: `settler of ${signer}`, stopping: stopping.signal },
        own,
      )
    },
    /** Finishes the current step and releases the lock; the next owner continues from the database. */
    async close() {
      unsubscribe()
      stopping.abort()
      await running
    },
  }
}
