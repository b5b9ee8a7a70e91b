import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCosmos } from '@tollgate/cosmos-devchain'
import { startAnvil } from './evm/anvil'
import { deployContracts, fundWallets } from './evm/deploy'
import { startPostgres } from './postgres'
import { removePostgres } from './postgres-home'
import { startRedis } from './redis'

export type TestWorld = {
  /** The superuser's URL of the database `postgres`. */
  postgresUrl: string
  /** Undefined where the machine has no `redis-server`. */
  redisUrl: string | undefined
  evmRpcUrl: string
  cosmosRpcUrl: string
}

const SHARED_MEMORY = '/dev/shm'
const POSTGRES_BYTES = 2 * 1024 ** 3

let stopWorld: (() => Promise<void>) | undefined

/**
 * Starts the infrastructure of a test run: Postgres without durability, Redis if available, an EVM chain with contracts, a Cosmos
 * chain, and funded wallets. Sets TEST_POSTGRES_URL, TEST_REDIS_URL, TEST_EVM_RPC_URL and TEST_COSMOS_RPC_URL.
 */
export async function startTestWorld(): Promise<TestWorld> {
  if (stopWorld) throw new Error('The test world is running: call stopTestWorld first')
  const folder = newFolder(tmpdir())
  const postgresParent = newFolder(hasRoomInMemory() ? SHARED_MEMORY : tmpdir())
  const postgresFolder = join(postgresParent, 'postgres')
  const starting = [
    startPostgres({ folder: postgresFolder, durable: false }),
    startRedis({ folder: join(folder, 'redis') }),
    startFundedChain(join(folder, 'chain')),
    startCosmos({ folder: join(folder, 'cosmos') }),
  ] as const
  stopWorld = async () => {
    const processes = await Promise.allSettled(starting)
    const stopping = processes.map(async (part) => {
      if (part.status === 'fulfilled') await part.value?.stop()
    })
    await Promise.all(stopping)
    removePostgres(postgresFolder)
    for (const made of [postgresParent, folder]) rmSync(made, { recursive: true, force: true })
  }
  try {
    const [postgres, redis, chain, cosmos] = await Promise.all(starting)
    const world = {
      postgresUrl: postgres.url('postgres'),
      redisUrl: redis?.url,
      evmRpcUrl: chain.rpcUrl,
      cosmosRpcUrl: cosmos.rpcUrl,
    }
    process.env['TEST_POSTGRES_URL'] = world.postgresUrl
    if (world.redisUrl) process.env['TEST_REDIS_URL'] = world.redisUrl
    process.env['TEST_EVM_RPC_URL'] = world.evmRpcUrl
    process.env['TEST_COSMOS_RPC_URL'] = world.cosmosRpcUrl
    return world
  } catch (problem) {
    await stopTestWorld()
    throw problem
  }
}

/** Idempotent. */
export async function stopTestWorld(): Promise<void> {
  const stop = stopWorld
  stopWorld = undefined
  for (const name of ['TEST_POSTGRES_URL', 'TEST_REDIS_URL', 'TEST_EVM_RPC_URL', 'TEST_COSMOS_RPC_URL'])
    Reflect.deleteProperty(process.env, name)
  await stop?.()
}

/** A test's database is a copy of some three hundred files, which costs a disk several times the CPU time. */
function hasRoomInMemory(): boolean {
  try {
    const { bavail, bsize } = statfsSync(SHARED_MEMORY)
    return bavail * bsize >= POSTGRES_BYTES
  } catch {
    return false
  }
}

function newFolder(parent: string): string {
  const folder = mkdtempSync(join(parent, 'tollgate-test-'))
  // Postgres may run as another account, which must pass through here to its own folder.
  chmodSync(folder, 0o711)
  return folder
}

async function startFundedChain(folder: string) {
  const chain = await startAnvil({ folder })
  try {
    await deployContracts(chain.rpcUrl)
    await fundWallets(chain.rpcUrl)
    return chain
  } catch (problem) {
    await chain.stop()
    throw problem
  }
}
