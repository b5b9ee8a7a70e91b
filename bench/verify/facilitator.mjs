import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  deployContracts,
  developmentSigners,
  fundWallets,
  removePostgres,
  startAnvil,
  startPostgres,
  startRedis,
  USDC_ADDRESS,
} from '../../packages/devnet/dist/index.js'
import { startProcess } from '../../packages/processes/dist/index.js'
import { migrate } from '../../packages/database/dist/index.js'
import { root } from '../../scripts/prepare.mjs'
import { requireFrom } from './borrowed.mjs'
import { startChainCounter } from './chain-counter.mjs'
import { NETWORK } from './payments.mjs'

const { request } = requireFrom('packages/chains')('undici')

/** Higher than any load. */
const WIDE_LIMIT = '100000000'

export async function startFacilitator({ folder, profile, closeLater }) {
  const home = join(folder, 'postgres')
  closeLater(() => removePostgres(home))
  const postgres = await startPostgres({ folder: home })
  closeLater(() => postgres.stop())
  const databaseUrl = await postgres.createDatabase('facilitator')
  await migrate({ url: databaseUrl, service: 'facilitator' })

  const redis = await startRedis({ folder })
  if (redis) closeLater(() => redis.stop())
  else console.log('· no redis-server on the PATH: verdicts and limits stay in the process')

  const anvil = await startAnvil()
  closeLater(() => anvil.stop())
  await deployContracts(anvil.rpcUrl)
  await fundWallets(anvil.rpcUrl)
  const counter = await startChainCounter(anvil.rpcUrl)
  closeLater(() => counter.close())

  const networksFile = join(folder, 'networks.yaml')
  const asset = { asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6 }
  const signerKeys = developmentSigners.map(({ privateKey }) => privateKey)
  const network = { ...NETWORK, rpc_urls: [counter.rpcUrl], signer_keys: signerKeys, assets: [asset] }
  // JSON is valid YAML.
  writeFileSync(networksFile, JSON.stringify([network]))

  const logFile = join(folder, 'facilitator.log')
  const service = await startProcess({
    name: 'facilitator',
    command: process.execPath,
    args: [
      ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`] : []),
      join(root, 'apps/facilitator/dist/main.js'),
    ],
    cwd: root,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      METRICS_PORT: '0',
      DATABASE_URL: databaseUrl,
      ...(redis ? { REDIS_URL: redis.url } : {}),
      NETWORKS_FILE: networksFile,
      JWT_SECRET: randomBytes(32).toString('hex'),
      RATE_LIMIT_PAYMENTS_PER_MINUTE: WIDE_LIMIT,
    },
    logFile,
    ready: /"message":"serving"/,
    stopSeconds: 15,
  })
  closeLater(() => service.stop())
  const { port, metricsPort } = JSON.parse(
    readFileSync(logFile, 'utf8')
      .split('\n')
      .find((line) => line.includes('"message":"serving"')),
  )
  const url = `http://127.0.0.1:${port}`
  return {
    url,
    path: '/api/v1/verify',
    headers: await newClientKey(`${url}/api/v1`),
    cpuSeconds: () => cpuSeconds(`http://127.0.0.1:${metricsPort}/metrics`),
    residentBytes: () => metric(`http://127.0.0.1:${metricsPort}/metrics`, 'process_resident_memory_bytes'),
    chain: counter.counted,
  }
}

/** `process.cpuUsage()` of the measured process. */
async function cpuSeconds(metricsUrl) {
  const user = await metric(metricsUrl, 'process_cpu_user_seconds_total')
  return user + (await metric(metricsUrl, 'process_cpu_system_seconds_total'))
}

async function metric(metricsUrl, name) {
  const { body } = await request(metricsUrl)
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await body.text())?.[1])
}

async function newClientKey(apiUrl) {
  const post = async (path, body, headers = {}) => {
    const answer = await request(apiUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`)
    return (await answer.body.json()).data
  }
  const account = { email: 'bench@example.com', password: randomBytes(16).toString('hex') }
  await post('/signup', account)
  const { access_token: token } = await post('/login', account)
  const { client } = await post('/clients', { title: 'Bench' }, { authorization: `Bearer ${token}` })
  return { 'x-client-id': client.clientId, 'x-client-token': client.token }
}
