import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { migrate, openGatewayDatabase } from '@tollgate/database'
import { createLedger } from '@tollgate/gateway/dist/accounts/ledger'
import { createTokens } from '@tollgate/gateway/dist/auth/tokens'
import { applyCatalog } from '@tollgate/gateway/dist/catalog/apply'
import { balanceOf, insertPayment, openSession, randomAddress } from '@tollgate/gateway/dist/testing/accounts'
import { catalogOf, planOf, providerOf } from '@tollgate/gateway/dist/testing/catalog'
import { startProcess } from '@tollgate/processes'
import { request } from 'undici'
import { type BenchmarkContext } from '../../benchmark'
import { root } from '../../machine'
import { openPostgres, openRedis } from '../../stores'

const SECRET = 'a secret of this benchmark and of nothing else'
const LONG_ANSWER = Buffer.alloc(8_388_608, 'x')
const LOOP_PROBE = join(root, 'bench/dist/preload/loop-probe.js')
/** The chain whose upstream answers eight megabytes. */
export const LONG = 'long'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>
type Probe = { activeMs: number; longestMs: number; rssBytes: number }
export type Gateway = Awaited<ReturnType<typeof startGateway>>

/** A production gateway with separate stores and upstream, and signed-in wallets. */
export async function startGateway(place: Place, limits: Readonly<Record<string, string>>) {
  const { folder, closeLater } = place
  const postgres = await openPostgres(place)
  const databaseUrl = await postgres.createDatabase('gateway')
  await migrate({ url: databaseUrl, service: 'gateway' })
  const redis = await openRedis(place)
  const upstream = await startUpstream(closeLater)
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: 2 })
  closeLater(() => database.close())
  const providers = [
    providerOf({ chain_id: '84532', rpc: [upstream] }),
    providerOf({ chain_id: LONG, rpc: [`${upstream}/long`] }),
  ]
  await applyCatalog(database, catalogOf({ plans: [planOf()], providers }))

  const logFile = join(folder, 'gateway.log')
  const starting = startProcess({
    name: 'gateway',
    command: process.execPath,
    args: ['--require', LOOP_PROBE, join(root, 'apps/gateway/dist/main.js')],
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      METRICS_PORT: '0',
      PUBLIC_URL: 'http://127.0.0.1',
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      JWT_SECRET: SECRET,
      SIGN_IN_DOMAINS: 'Tollgate',
      FACILITATOR_URL: 'http://127.0.0.1:9',
      FACILITATOR_CLIENT_ID: 'bench',
      FACILITATOR_CLIENT_TOKEN: randomBytes(32).toString('hex'),
      ...limits,
    },
    logFile,
    ready: /"message":"serving"/,
    stopSeconds: 15,
  })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  await starting
  const probeUrl = `http://127.0.0.1:${loggedPort(logFile, 'loopProbe')}`
  const tokens = createTokens([SECRET], () => new Date())
  const ledger = createLedger(database)

  /** The running gateway may grant the payment first. */
  async function fund(wallet: string, credits: number) {
    await ledger.grant(await insertPayment(database.pool, { wallet, credits }))
    for (let attempt = 0; (await balanceOf(ledger, wallet)) < BigInt(credits); attempt++) {
      if (attempt === 100) throw new Error('The payment could not be granted')
      await delay(50)
    }
  }

  return {
    url: `http://127.0.0.1:${loggedPort(logFile, 'port')}`,
    probe: async () => (await (await request(probeUrl)).body.json()) as Probe,
    async signIn(credits: number): Promise<string> {
      const wallet = randomAddress()
      if (credits > 0) await fund(wallet, credits)
      const sid = await openSession(database.pool, wallet)
      const claims = { auth_method: 'siwe', chain_id: '84532', ecosystem: 'evm', pricing_plan_id: 1 } as const
      return tokens.issue({ wallet, ...claims, sid, jti: randomUUID() }).token
    },
  }
}

/** The first line of the log with this member. */
function loggedPort(logFile: string, member: string): string {
  const found = new RegExp(`"${member}":(\\d+)`).exec(readFileSync(logFile, 'utf8'))
  if (!found?.[1]) throw new Error(`The gateway did not log ${member}`)
  return found[1]
}

async function startUpstream(closeLater: Place['closeLater']): Promise<string> {
  const server = createServer((req, res) => {
    req.resume().once('end', () => {
      if (req.url === '/long') res.writeHead(200, { 'content-type': 'text/plain' }).end(LONG_ANSWER)
      else
        res
          .writeHead(200, { 'content-type': 'application/json' })
          .end('{"jsonrpc":"2.0","id":1,"result":"0x1"}')
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
