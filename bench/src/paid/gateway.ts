import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVICE_NODE_OPTIONS } from '@tollgate/devnet'
import { startProcess } from '@tollgate/processes'
import { type BenchmarkContext } from '../benchmark'
import { root } from '../machine'
import { type Peer } from '../peers/peer'
import { SECRET } from './accounts'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>

/** On, and never reached. */
const LIMIT = '1000000000'

export type GatewayOptions = {
  name?: string
  /** A checkout that is built. */
  checkout?: string
  /** Where the process leaves its CPU profile when it stops. */
  profileFolder?: string | undefined
}
export type Gateway = Peer & { stop: () => Promise<void> }

/** A gateway process as in production, which writes its log to a file. */
export async function startGateway(
  { folder, closeLater }: Place,
  { databaseUrl, redisUrl }: { databaseUrl: string; redisUrl: string | undefined },
  { name = 'gateway', checkout = root, profileFolder }: GatewayOptions = {},
): Promise<Gateway> {
  const logFile = join(folder, `${name}.log`)
  const profiling = profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profileFolder}`]
  const starting = startProcess({
    name,
    command: process.execPath,
    args: [...profiling, join(checkout, 'apps/gateway/dist/main.js')],
    cwd: checkout,
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'production',
      NODE_OPTIONS: SERVICE_NODE_OPTIONS,
      PORT: '0',
      METRICS_PORT: '0',
      PUBLIC_URL: 'http://127.0.0.1',
      DATABASE_URL: databaseUrl,
      ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }),
      JWT_SECRET: SECRET,
      SIGN_IN_DOMAINS: 'Tollgate',
      FACILITATOR_URL: 'http://127.0.0.1:9',
      FACILITATOR_CLIENT_ID: 'bench',
      FACILITATOR_CLIENT_TOKEN: randomBytes(32).toString('hex'),
      RATE_LIMIT_RPC_PER_MINUTE: LIMIT,
      RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: LIMIT,
    },
    logFile,
    ready: /"message":"serving"/,
    stopSeconds: 20,
  })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const gateway = await starting
  const port = /"message":"serving","port":(\d+)/.exec(readFileSync(logFile, 'utf8'))?.[1]
  if (port === undefined) throw new Error('The gateway did not log its port')
  return { name, url: `http://127.0.0.1:${port}`, pids: [gateway.pid], stop: gateway.stop }
}
