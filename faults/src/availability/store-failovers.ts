import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { removePostgres, startRedis } from '@tollgate/devnet'
import { hasPgBouncer, startPgBouncer } from '@tollgate/database/testing/pgbouncer'
import { type Stage } from '../scenario'
import { type Deployment } from './deployment'
import { promote, setReadOnly, startStandby } from './standby'
import { checkRecovery, checkSignIn, storesAway, type Outage } from './stores-away'
import { startSwitchableProxy } from './switchable-proxy'

const REFUSED =
  'Every request is served, or refused by 503 with Retry-After (by /settle and /verify also with SETTLEMENT_FAILED and VERIFICATION_FAILED, to be repeated). Within 5 s after the store takes writes calls are served and payments settled. No payment is lost.'

/** Restarts both services, which then use these URLs of their databases. */
async function useDatabases({ world, roll }: Deployment, through: (url: string) => string): Promise<void> {
  const { gateway, facilitator } = world.infrastructure.postgres
  await roll('gateway', { environment: { DATABASE_URL: through(gateway) } }, 'at-once')
  await roll('facilitator', { environment: { DATABASE_URL: through(facilitator) } }, 'at-once')
}

/** A service that starts through a pooler in transaction mode must stop and say what to set. */
async function mustRefuse(name: string, start: () => Promise<unknown>): Promise<string[]> {
  const outcome = await start().then(() => 'it started', String)
  return /Set pool_mode = session in PgBouncer/.test(outcome)
    ? []
    : [`through PgBouncer in transaction mode ${name}: ${outcome.slice(0, 300)}`]
}

/** Two replicas of each service use more connections than the default of 20 for a database. */
const SESSION_MODE = { pool_mode: 'session', default_pool_size: '60', max_client_conn: '400' }

let pooler: Awaited<ReturnType<typeof startPgBouncer>> | undefined

export const pgBouncerRestarted = storesAway(
  'pgbouncer-restarted',
  `As postgres-restarted, with PgBouncer in session mode before Postgres, which is killed (kill -9) and started again. A gateway and a
  facilitator that start through PgBouncer in transaction mode must stop, with a sentence that says what to set. Needs nginx and
  pgbouncer.`,
  1,
  {
    async prepare({ closeLater, say }: Stage, deployment: Deployment) {
      if (!hasPgBouncer) throw new Error('There is no pgbouncer on the PATH')
      const { world } = deployment
      const { gateway, facilitator } = world.infrastructure.postgres
      pooler = await startPgBouncer(gateway, SESSION_MODE)
      closeLater(() => pooler?.stop())
      const { port } = new URL(pooler.url)
      const shared = await startPgBouncer(gateway, { ...SESSION_MODE, pool_mode: 'transaction' })
      closeLater(() => shared.stop())
      const at = (url: string, to: string) => Object.assign(new URL(url), { port: to }).href
      await useDatabases(deployment, (url) => at(url, port))
      const { port: sharedPort } = new URL(shared.url)
      const problems = [
        ...(await mustRefuse('gateway', () =>
          world.addGateway({ environment: { DATABASE_URL: at(gateway, sharedPort) } }),
        )),
        ...(await mustRefuse('facilitator', () =>
          world.addFacilitator({ environment: { DATABASE_URL: at(facilitator, sharedPort) } }),
        )),
      ]
      if (problems.length === 0)
        say('· in transaction mode both services refuse to start, and say what to set')
      return problems
    },
    outages: [
      {
        fault: 'PgBouncer in session mode is killed (kill -9) under load, and started again',
        where: 'PgBouncer',
        outcome: `${REFUSED} In transaction mode the services refuse to start, and say what to set.`,
        awayMs: 5_000,
        stop: () => pooler && process.kill(pooler.pid, 'SIGKILL'),
        async start({ infrastructure }) {
          const listen_port = new URL(pooler?.url ?? '').port
          pooler = await startPgBouncer(infrastructure.postgres.gateway, { ...SESSION_MODE, listen_port })
        },
      },
    ],
  },
  checkRecovery,
)

export const postgresReadOnly = storesAway(
  'postgres-read-only',
  `As postgres-restarted, with a Postgres that becomes read-only (default_transaction_read_only) with its connections open, and takes
  writes again ten seconds later. Needs nginx.`,
  2,
  {
    outages: [
      {
        fault: 'Postgres becomes read-only under load, with its connections open, and takes writes again',
        where: 'Postgres',
        outcome: REFUSED,
        awayMs: 10_000,
        stop: ({ infrastructure }) => setReadOnly(infrastructure.postgres.gateway, true),
        start: ({ infrastructure }) => setReadOnly(infrastructure.postgres.gateway, false),
      },
    ],
  },
  checkRecovery,
)

/** The scenario that is running sets it. */
let failover: { demote: () => Promise<void>; promote: () => Promise<void> } | undefined

const promotion = (fault: string, where: string, outcome: string): Outage => ({
  fault,
  where,
  outcome,
  awayMs: 3_000,
  stop: () => failover?.demote(),
  start: () => failover?.promote() ?? Promise.resolve(),
})

export const postgresPromoted = storesAway(
  'postgres-promoted',
  `As postgres-restarted, with a failover to a synchronous standby: the old primary becomes read-only and keeps its connections open, and
  new ones lead to the standby, which is promoted three seconds later. Needs nginx.`,
  1,
  {
    async prepare({ closeLater }: Stage, deployment: Deployment) {
      const { world } = deployment
      const { postgres } = world.infrastructure
      const folder = join(world.folder, 'standby')
      const standby = await startStandby(world, folder)
      closeLater(async () => {
        await standby.stop()
        removePostgres(folder)
      })
      // The questions of this program do not keep connections to the old primary.
      const [services, own] = [
        await startSwitchableProxy(postgres.port),
        await startSwitchableProxy(postgres.port),
      ]
      closeLater(() => [services, own].forEach((proxy) => proxy.stop()))
      await useDatabases(deployment, services.through)
      Object.assign(postgres, {
        gateway: own.through(postgres.gateway),
        facilitator: own.through(postgres.facilitator),
      })
      failover = {
        async demote() {
          await setReadOnly(postgres.gateway, true)
          services.leadTo(standby.port)
        },
        async promote() {
          await promote(standby)
          own.leadTo(standby.port)
          own.cut()
        },
      }
      return []
    },
    outages: [
      promotion(
        'Postgres fails over to a standby under load; the old primary becomes read-only and keeps its connections',
        'Postgres',
        REFUSED,
      ),
    ],
  },
  checkRecovery,
)

export const redisPromoted = storesAway(
  'redis-promoted',
  `As redis-away, with a failover to a replica: the old primary becomes a replica and keeps its connections open; new ones lead to the
  promoted one. Sign-in must work again by itself within five seconds. Needs nginx and redis-server.`,
  1,
  {
    async prepare({ closeLater }: Stage, { world, roll }: Deployment) {
      const { redis } = world.infrastructure
      const replica = await startRedis({ folder: join(world.folder, 'redis-replica') })
      if (!redis || !replica) throw new Error('There is no redis-server on the PATH')
      closeLater(() => replica.stop())
      await sendToRedis(replica.port, `REPLICAOF 127.0.0.1 ${redis.port}`)
      const proxy = await startSwitchableProxy(redis.port)
      closeLater(() => proxy.stop())
      const environment = { REDIS_URL: proxy.through(redis.url) }
      await roll('gateway', { environment }, 'at-once')
      await roll('facilitator', { environment }, 'at-once')
      failover = {
        demote: () => sendToRedis(redis.port, `REPLICAOF 127.0.0.1 ${replica.port}`),
        async promote() {
          await sendToRedis(replica.port, 'REPLICAOF NO ONE')
          proxy.leadTo(replica.port)
        },
      }
      return []
    },
    outages: [
      promotion(
        'Redis fails over to a replica under load; the old primary becomes a replica and keeps its connections',
        'Redis',
        'Only sign-in is refused, by 503 with Retry-After, and works again by itself within 5 s.',
      ),
    ],
  },
  checkSignIn,
)

async function sendToRedis(port: number, command: string): Promise<void> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`${command}\r\n`)
  const [answer] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  if (!answer.toString().startsWith('+OK')) throw new Error(`Redis answered ${answer.toString()}`)
}
