import { type SystemStatus } from '@tollgate/protocol'
import { type Networks } from './networks'
import { createProbe } from './probe'

/**
 * How this replica and what it depends on are now. Never rejects, and answers within the probes' three seconds, whatever is
 * down: the database and all networks are asked at once.
 */
export function createStatus(parts: {
  networks: Pick<Networks, 'states'>
  /** Resolves where the database answers. */
  pingDatabase: () => Promise<unknown>
  version: string
}) {
  const { networks, pingDatabase, version } = parts
  const probe = createProbe(async () => {
    await pingDatabase()
    return true
  })

  return async (): Promise<SystemStatus> => {
    const [states, answers] = await Promise.all([networks.states(), probe()])
    const isWhole = answers === true && states.every(({ status }) => status === 'active')
    return {
      status: isWhole ? 'ok' : 'degraded',
      version,
      uptime: Math.floor(process.uptime()),
      networks: states,
      database: { status: answers ? 'ok' : 'unreachable' },
    }
  }
}
