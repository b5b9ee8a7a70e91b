import { type SystemStatus } from '@tollgate/protocol'
import { type Networks } from './networks'
import { createCachedProbe } from './cached-probe'

/** Never rejects. The probes run concurrently, so the result arrives within the timeout of one. */
export function createStatus(parts: {
  networks: Pick<Networks, 'states'>
  pingDatabase: () => Promise<unknown>
  version: string
}) {
  const { networks, pingDatabase, version } = parts
  const probe = createCachedProbe(async () => {
    await pingDatabase()
    return true
  })

  return async (): Promise<SystemStatus> => {
    const [states, answers] = await Promise.all([networks.states(), probe()])
    const isHealthy = answers === true && states.every(({ status }) => status === 'active')
    return {
      status: isHealthy ? 'ok' : 'degraded',
      version,
      uptime: Math.floor(process.uptime()),
      networks: states,
      database: { status: answers ? 'ok' : 'unreachable' },
    }
  }
}
