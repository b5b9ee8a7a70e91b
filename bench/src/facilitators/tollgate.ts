import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '@tollgate/database'
import { startProcess } from '@tollgate/processes'
import { request } from 'undici'
import { root } from '../machine'
import { openStores } from '../stores'
import { WIDE_LIMIT } from '../wide-limit'
import { CHAIN_ID } from './chain'
import { type Contender, type ContenderOptions, type Place } from './contender'

/** Our facilitator as in production, on stores of its own. */
export async function startTollgate(
  place: Place,
  { chain, nodeUrl }: ContenderOptions,
  environment: Readonly<Record<string, string>> = {},
): Promise<Contender> {
  const { folder, closeLater } = place
  const { postgres, redis } = await openStores(place)
  const databaseUrl = await postgres.createDatabase('facilitator')
  await migrate({ url: databaseUrl, service: 'facilitator' })

  const networksFile = join(folder, 'networks.yaml')
  const network = {
    name: 'base-sepolia',
    ecosystem: 'evm',
    chain_id: CHAIN_ID,
    rpc_urls: [nodeUrl],
    signer_keys: [chain.signers.tollgate],
    assets: [{ asset: chain.asset, symbol: 'USDC', decimals: 6 }],
  }
  // JSON is valid YAML.
  writeFileSync(networksFile, JSON.stringify([network]))
  const logFile = join(folder, 'facilitator.log')
  const service = await startProcess({
    name: 'facilitator',
    command: process.execPath,
    args: [join(root, 'apps/facilitator/dist/main.js')],
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      METRICS_PORT: '0',
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      NETWORKS_FILE: networksFile,
      JWT_SECRET: randomBytes(32).toString('hex'),
      RATE_LIMIT_PAYMENTS_PER_MINUTE: WIDE_LIMIT,
      ...environment,
    },
    logFile,
    ready: /"message":"serving"/,
    stopSeconds: 15,
  })
  closeLater(() => service.stop())
  const url = `http://127.0.0.1:${readPort(logFile)}`
  return { url: `${url}/api/v2`, pid: service.pid, headers: await createClientKey(`${url}/api/v1`) }
}

function readPort(logFile: string): number {
  const line = readFileSync(logFile, 'utf8')
    .split('\n')
    .find((text) => text.includes('"message":"serving"'))
  return (JSON.parse(line ?? '{}') as { port: number }).port
}

async function createClientKey(apiUrl: string): Promise<Record<string, string>> {
  const post = async (path: string, body: object, headers = {}) => {
    const answer = await request(apiUrl + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (answer.statusCode !== 200) throw new Error(`${path} answered ${answer.statusCode}`)
    return ((await answer.body.json()) as { data: unknown }).data
  }
  const account = { email: 'bench@example.com', password: randomBytes(16).toString('hex') }
  await post('/signup', account)
  const { access_token: token } = (await post('/login', account)) as { access_token: string }
  const { client } = (await post('/clients', { title: 'Bench' }, { authorization: `Bearer ${token}` })) as {
    client: { clientId: string; token: string }
  }
  return { 'x-client-id': client.clientId, 'x-client-token': client.token }
}
