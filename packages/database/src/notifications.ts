import { keepSession, pause, type SessionOptions } from './session'
import { checkSession } from './session-settings'

/** A session that outlives a failover listens to the old primary. */
const CHECK_INTERVAL_MS = 1_000

export type Notifications = ReturnType<typeof createNotifications>

/** NOTIFY payloads by channel. They are lost while the connection is broken, so subscribers must poll too. */
export function createNotifications({ pool, logger }: Pick<SessionOptions, 'pool' | 'logger'>) {
  const subscribers = new Map<string, Set<(payload: string) => void>>()
  const stopping = new AbortController()
  let running: Promise<void> | undefined

  return {
    /** Only before {@link begin}. Returns the function that unsubscribes. */
    subscribe(channel: string, onPayload: (payload: string) => void): () => void {
      const ofChannel = subscribers.get(channel) ?? new Set()
      subscribers.set(channel, ofChannel.add(onPayload))
      return () => void ofChannel.delete(onPayload)
    },

    begin() {
      running ??= keepSession(
        { pool, logger, purpose: 'notifications', stopping: stopping.signal },
        async (client, signal) => {
          client.on('notification', ({ channel, payload = '' }) => {
            for (const onPayload of subscribers.get(channel) ?? []) onPayload(payload)
          })
          for (const channel of subscribers.keys()) await client.query(`LISTEN ${channel}`)
          while (!signal.aborted) {
            await checkSession(client)
            await pause(CHECK_INTERVAL_MS, signal)
          }
        },
      )
    },

    async close() {
      stopping.abort()
      await running
    },
  }
}
