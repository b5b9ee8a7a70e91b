import { type Pool } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { aborted, keepSession } from './session'

export type Notices = ReturnType<typeof createNotices>

/**
 * What Postgres is asked to tell, by channel. While the connection is broken nothing is heard, so that whoever listens
 * must also look for itself now and then.
 */
export function createNotices({ pool, logger }: { pool: Pool; logger: Logger }) {
  const subscribers = new Map<string, Set<(payload: string) => void>>()
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  return {
    /** To be called before {@link begin}. Returns the way to unsubscribe. */
    subscribe(channel: string, tell: (payload: string) => void): () => void {
      const telling = subscribers.get(channel) ?? new Set()
      subscribers.set(channel, telling.add(tell))
      return () => void telling.delete(tell)
    },

    begin() {
      running ??= keepSession(
        { pool, logger, purpose: 'notices', stopping: stopping.signal },
        async (client, signal) => {
          client.on('notification', ({ channel, payload = '' }) => {
            for (const tell of subscribers.get(channel) ?? []) tell(payload)
          })
          for (const channel of subscribers.keys()) await client.query(`listen ${channel}`)
          await aborted(signal)
        },
      )
    },

    async close() {
      stopping.abort()
      await running
    },
  }
}
