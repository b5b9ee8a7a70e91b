import { type EventEmitter } from 'node:events'
import { type ClientBase, type Pool } from 'pg'
import { READ_ONLY } from './session-settings'

/**
 * Closes all present connections of a pool, each when it is free, once Postgres refuses a write on one of them because it became
 * read-only: after a failover they lead to the old primary. A new connection is refused while it leads to a read-only session.
 */
export function replaceReadOnly(pool: Pool): void {
  const open = new Set<ClientBase>()
  const outdated = new WeakSet<ClientBase>()

  pool.on('connect', (client) => {
    open.add(client)
    const { connection } = client as ClientBase & { connection: EventEmitter }
    connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code === READ_ONLY && !outdated.has(client)) replaceAll()
    })
  })
  pool.on('remove', (client) => open.delete(client))
  pool.on('release', (_error, client) => {
    if (outdated.has(client)) void (client as ClientBase & { end: () => Promise<void> }).end()
  })

  function replaceAll() {
    for (const client of open) outdated.add(client)
    for (let idle = pool.idleCount; idle > 0; idle--)
      void pool.connect().then(
        (client) => client.release(),
        () => undefined,
      )
  }
}
