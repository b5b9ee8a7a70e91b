import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { migrate } from '@tollgate/database'
import { deployContracts, developmentSigners, fundWallets, startAnvil, USDC_ADDRESS } from '@tollgate/devnet'
import { type BenchmarkContext } from './benchmark'
import { root } from './machine'
import { type NodeServer, startNodeServer } from './node-server'
import { type Postgres, type Redis } from './stores'
import { WIDE_LIMIT } from './wide-limit'

type Context = Pick<BenchmarkContext, 'folder' | 'closeLater'>

export const NETWORK = { name: 'base-sepolia', ecosystem: 'evm', chain_id: '84532' }

/** A migrated database and a chain with USDC, funded wallets and signers; the environment of every facilitator on them. */
export async function createFacilitatorStores(
  { folder, closeLater }: Context,
  { postgres, redis }: { postgres: Postgres; redis: Redis },
): Promise<NodeJS.ProcessEnv> {
  const databaseUrl = await postgres.createDatabase('facilitator')
  await migrate({ url: databaseUrl, service: 'facilitator' })
  const anvil = await startAnvil()
  closeLater(() => anvil.stop())
  await deployContracts(anvil.rpcUrl)
  await fundWallets(anvil.rpcUrl)
  const networksFile = join(folder, 'networks.yaml')
  const asset = { asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6 }
  const signer_keys = developmentSigners.map(({ privateKey }) => privateKey)
  // JSON is valid YAML.
  writeFileSync(
    networksFile,
    JSON.stringify([{ ...NETWORK, rpc_urls: [anvil.rpcUrl], signer_keys, assets: [asset] }]),
  )
  return {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    NETWORKS_FILE: networksFile,
    JWT_SECRET: randomBytes(32).toString('hex'),
    RATE_LIMIT_PAYMENTS_PER_MINUTE: WIDE_LIMIT,
  }
}

/** A facilitator process, ready to serve. */
export const startFacilitator = (context: Context, environment: NodeJS.ProcessEnv): Promise<NodeServer> =>
  startNodeServer(context, {
    name: 'facilitator',
    args: [join(root, 'apps/facilitator/dist/main.js')],
    environment,
  })
