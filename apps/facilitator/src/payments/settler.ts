import { type Pool, type PoolClient } from '@tollgate/database'
import { caip2 } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { createBell } from './bell'
import { createConclude } from './conclude'
import { createFollower } from './following'
import { type Notices } from './notices'
import { createSender } from './sending'
import { keepSession, pause } from './session'
import { createSettlerStore } from './settler-store'
import { CLAIMED_CHANNEL } from './store'

/** Notices wake the settler; it looks for itself as well, because one may be lost. */
const LOOK_AGAIN_MS = 1_000
const TAKE_OVER_MS = 500
const HEARTBEAT_MS = 3_000
/** Postgres ends the session, and with it the lock, of an owner that has gone silent for so long. */
const SILENCE_LIMIT = '15s'
const FOLLOW_FIRST_MS = 50
const FOLLOW_LAST_MS = 2_000

/**
 * Carries out the settlements of one signer. Of all processes with that signer's key one at a time does so: the one whose
 * database session holds the signer's lock. What it signs is committed on that very session, so that an owner that has
 * lost the lock, and may not know it yet, can store nothing, and sends nothing that is not stored.
 */
export function createSettler(parts: {
  network: Network
  signer: string
  pool: Pool
  notices: Notices
  logger: Logger
  now: () => Date
}) {
  const { network, signer, pool, notices, now } = parts
  const logger = parts.logger.child({ network: network.name, signer })
  const store = createSettlerStore(pool)
  const conclude = createConclude(store, logger)
  const sender = createSender({ network, signer, store, conclude, logger, now })
  const follower = createFollower({ network, signer, pool, store, conclude, logger })
  const claimed = createBell()
  const sent = createBell()
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  const unsubscribe = notices.subscribe(CLAIMED_CHANNEL, (name) => {
    if (name === network.name) claimed.ring()
  })

  async function own(session: PoolClient, signal: AbortSignal): Promise<void> {
    await session.query(`set idle_session_timeout = '${SILENCE_LIMIT}'`)
    if (!(await takeLock(session, signal))) return
    logger.info('settler took over')
    const silent = new AbortController()
    const heartbeat = setInterval(() => {
      session.query('select 1').catch(() => {
        silent.abort()
      })
    }, HEARTBEAT_MS)
    const owning = AbortSignal.any([signal, silent.signal])
    await Promise.all([keepSending(session, owning), keepFollowing(owning)])
    clearInterval(heartbeat)
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
      } catch (error) {
        logger.warn('settlements could not be sent; trying again', { error })
      }
      await claimed.sleep(LOOK_AGAIN_MS, signal)
    }
  }

  async function keepFollowing(signal: AbortSignal): Promise<void> {
    let pauseMs = FOLLOW_FIRST_MS
    while (!signal.aborted) {
      try {
        const { open, ended } = await follower.followSigned()
        pauseMs =
          open === 0 ? FOLLOW_LAST_MS : ended > 0 ? FOLLOW_FIRST_MS : Math.min(pauseMs * 1.5, FOLLOW_LAST_MS)
      } catch (error) {
        logger.warn('settlements could not be followed; trying again', { error })
      }
      if (await sent.sleep(pauseMs, signal)) pauseMs = FOLLOW_FIRST_MS
    }
  }

  return {
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
