import { type Pool, type PoolClient } from '@tollgate/database'
import { caip2 } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { createBell } from './bell'
import { createBroadcaster } from './broadcasting'
import { type Counts } from '../operations/counts'
import { createTell } from './tell'
import { type FeeBudget } from './fee-budget'
import { createFollower } from './following'
import { type Notices } from './notices'
import { createReorgStore } from './reorg-store'
import { createReplacer } from './replacing'
import { createSender } from './sending'
import { keepSession, pause } from './session'
import { createSettlerStore } from './settler-store'
import { createSigningStore } from './signing-store'
import { CLAIMED_CHANNEL } from './store'
import { createTransactionStore } from './transaction-store'
import { createWatcher } from './watching'

/** Notices wake the settler; it looks for itself as well, because one may be lost. */
const LOOK_AGAIN_MS = 1_000
const TAKE_OVER_MS = 500
/** Postgres ends the session, and with it the lock, of an owner that has gone silent for so long; one that lives looks each second. */
const SILENCE_LIMIT = '8s'
const FOLLOW_FIRST_MS = 50
const FOLLOW_LAST_MS = 2_000
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
  notices: Notices
  counts: Counts
  logger: Logger
  now: () => Date
}) {
  const { network, signer, pool, feeBudget, notices, counts, now } = parts
  const logger = parts.logger.child({ network: network.name, signer })
  const store = createSettlerStore()
  const signing = createSigningStore(pool)
  const transactions = createTransactionStore(pool)
  const [first] = network.chain.signers
  const adoptsAllBut = signer === first ? network.chain.signers : undefined
  const lane = { network: network.name, signer, adoptsAllBut }
  const tell = createTell({ network: network.name, logger, counts })
  const { send, isSending, drained } = createBroadcaster({ network, signing, logger })
  const sender = createSender({
    network,
    signer,
    store,
    signing,
    feeBudget,
    send,
    tell,
    counts,
    logger,
    now,
  })
  const replaceStuck = createReplacer({
    network,
    signer,
    store,
    signing,
    transactions,
    send,
    counts,
    logger,
  })
  const follower = createFollower({
    network,
    lane,
    pool,
    store,
    signing,
    transactions,
    isSending,
    tell,
    logger,
  })
  const watcher = createWatcher({ network, lane, store: createReorgStore(pool), counts, logger })
  const claimed = createBell()
  const sent = createBell()
  const stopping = new AbortController()
  let running: Promise<void> | undefined
  let isOwner = false

  const unsubscribe = notices.subscribe(CLAIMED_CHANNEL, (name) => {
    if (name === network.name) claimed.ring()
  })

  async function own(session: PoolClient, signal: AbortSignal): Promise<void> {
    await session.query(`set idle_session_timeout = '${SILENCE_LIMIT}'`)
    if (!(await takeLock(session, signal))) return
    logger.info('settler took over')
    const lost = new AbortController()
    const owning = AbortSignal.any([signal, lost.signal])
    const sending = keepSending(session, owning).finally(() => lost.abort())
    isOwner = true
    try {
      await Promise.all([sending, keepFollowing(owning), keepWatching(owning)])
    } finally {
      isOwner = false
      await drained()
    }
  }

  async function takeLock(session: PoolClient, signal: AbortSignal): Promise<boolean> {
    const name = `settler ${caip2(network)} ${signer}`
    while (!signal.aborted) {
      const { rows } = await session.query<{ taken: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1, 0)) as taken',
        [name],
      )
      if (rows[0]?.taken) return true
      await pause(TAKE_OVER_MS, signal)
    }
    return false
  }

  async function keepSending(session: PoolClient, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        const mayBeMore = await sender.sendClaimed(session)
        if (mayBeMore) {
          sent.ring()
          continue
        }
        await replaceStuck(session)
      } catch (error) {
        logger.warn('settlements could not be sent; trying again', { error })
        // A session that is gone took the lock with it.
        await session.query('select 1')
      }
      await claimed.sleep(LOOK_AGAIN_MS, signal)
    }
  }

  async function keepFollowing(signal: AbortSignal): Promise<void> {
    let pauseMs = FOLLOW_FIRST_MS
    while (!signal.aborted) {
      try {
        const { open, ended } = await follower.followSigned()
        // What waited for room may go now.
        if (ended > 0) claimed.ring()
        pauseMs =
          open === 0 ? FOLLOW_LAST_MS : ended > 0 ? FOLLOW_FIRST_MS : Math.min(pauseMs * 1.5, FOLLOW_LAST_MS)
      } catch (error) {
        logger.warn('settlements could not be followed; trying again', { error })
      }
      if (await sent.sleep(pauseMs, signal)) pauseMs = FOLLOW_FIRST_MS
    }
  }

  async function keepWatching(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(WATCH_MS, signal)
      try {
        if (await watcher.watchMined()) sent.ring()
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
    /** Finishes the step under way and gives the lock back; what is left is stored, for the next owner. */
    async close() {
      unsubscribe()
      stopping.abort()
      await running
    },
  }
}
