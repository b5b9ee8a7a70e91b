import { Buffer } from 'node:buffer'
import { randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { removePostgres, startPostgres, startRedis } from '../../packages/devnet/dist/index.js'
import { startProcess } from '../../packages/processes/dist/index.js'
import { migrate, openGatewayDatabase } from '../../packages/database/dist/index.js'
import { applyCatalog } from '../../apps/gateway/dist/catalog/apply.js'
import { createLedger } from '../../apps/gateway/dist/accounts/ledger.js'
import { createTokens } from '../../apps/gateway/dist/auth/tokens.js'
import { fund, openSession, randomAddress } from '../../apps/gateway/dist/testing/accounts.js'
import { requireFrom } from '../verify/borrowed.mjs'
import { catalogOf, planOf, providerOf } from '../../apps/gateway/dist/testing/catalog.js'

const { request } = requireFrom('apps/gateway')('undici')

const SECRET = 'a secret of this benchmark and of nothing else'
const LONG_ANSWER = Buffer.alloc(8_388_608, 'x')
/** The resource of `POST /rpc` with a response of eight megabytes. */
export const LONG = 'long'

/** A production gateway of `checkout` with separate stores and upstream, and signed-in wallets. */
export async function startGateway({ checkout, folder, limits, closeLater }) {
  const home = join(folder, 'postgres')
  closeLater(() => removePostgres(home))
  const postgres = await startPostgres({ folder: home })
  closeLater(() => postgres.stop())
  const databaseUrl = await postgres.createDatabase('gateway')
  await migrate({ url: databaseUrl, service: 'gateway' })
  const redis = await startRedis({ folder })
  if (redis) closeLater(() => redis.stop())

  const upstream = await startUpstream(closeLater)
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: 2 })
  closeLater(() => database.close())
  const providers = [
    providerOf({ chain_id: '84532', rpc: [upstream] }),
    providerOf({ chain_id: LONG, rpc: [`${upstream}/long`] }),
  ]
  await applyCatalog(database, catalogOf({ plans: [planOf()], providers }))

  const logFile = join(folder, 'gateway.log')
  const service = await startProcess({
    name: 'gateway',
    command: process.execPath,
    args: [
      '--require',
      join(import.meta.dirname, 'loop-probe.cjs'),
      join(checkout, 'apps/gateway/dist/main.js'),
    ],
    cwd: checkout,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      METRICS_PORT: '0',
      PUBLIC_URL: 'http://127.0.0.1',
      DATABASE_URL: databaseUrl,
      ...(redis ? { REDIS_URL: redis.url } : {}),
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
  closeLater(() => service.stop())
  const logged = (member) =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes(`"${member}":`))
      .map((line) => JSON.parse(line)[member])[0]
  const probeUrl = `http://127.0.0.1:${logged('loopProbe')}`
  const tokens = createTokens([SECRET], () => new Date())
  const ledger = createLedger(database)

  return {
    url: `http://127.0.0.1:${logged('port')}`,
    probe: async () => (await request(probeUrl)).body.json(),
    async signIn(credits) {
      const wallet = randomAddress()
      if (credits > 0) await fund({ pool: database.pool, ledger }, wallet, credits)
      const sid = await openSession(database.pool, wallet)
      const claims = { auth_method: 'siwe', chain_id: '84532', ecosystem: 'evm', pricing_plan_id: 1 }
      return tokens.issue({ wallet, ...claims, sid, jti: randomUUID() }).token
    },
  }
}

async function startUpstream(closeLater) {
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
  return `http://127.0.0.1:${server.address().port}`
}
