import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startCosmos } from './cosmos/cosmos'
import { startAnvil } from './evm/anvil'
import { deployContracts, fundWallets } from './evm/deploy'
import { type Parts } from './parts'
import { startPostgres } from './postgres'
import { type ProcessExit } from './process'
import { startRedis } from './redis'
import { screen, timed } from './screen'
import { type State } from './state'

export type Foundation = Awaited<ReturnType<typeof startFoundation>>

const onExit = ({ name, output }: ProcessExit) =>
  screen.warn(
    `${name} ended although nobody asked it to; stop with Ctrl-C and start again. Its last words:\n${output}`,
  )

/** What the services stand on: Postgres with both databases migrated, Redis if there is one, and two chains. */
export async function startFoundation({ root, state, parts }: { root: string; state: State; parts: Parts }) {
  const postgres = async () => {
    const server = await parts.addFoundation(
      startPostgres({ folder: state.at('postgres'), port: 54320, onExit }),
    )
    const gateway = await server.createDatabase('gateway')
    const facilitator = await server.createDatabase('facilitator')
    await Promise.all([migrate(root, 'gateway', gateway), migrate(root, 'facilitator', facilitator)])
    return { port: server.port, gateway, facilitator, server }
  }
  const redis = () => parts.addFoundation(startRedis({ folder: state.at('redis'), port: 63790, onExit }))
  const chain = async () => {
    const anvil = await parts.addFoundation(startAnvil({ folder: state.at('anvil'), port: 8545, onExit }))
    await deployContracts(anvil.rpcUrl)
    await fundWallets(anvil.rpcUrl)
    return anvil
  }
  const cosmosChain = () =>
    parts.addFoundation(startCosmos({ folder: state.at('cosmos'), port: 26657, onExit }))

  const [databases, redisServer, anvil, cosmos] = await Promise.all([
    timed('Postgres', postgres, ({ port }) => `port ${port}, both databases migrated`),
    timed(
      'Redis',
      redis,
      (server) => server?.url ?? 'none on the PATH; each service keeps a store of its own',
    ),
    timed('EVM chain', chain, ({ rpcUrl }) => `${rpcUrl}, USDC and Multicall3 deployed, wallets funded`),
    timed('Cosmos chain', cosmosChain, ({ rpcUrl, chainId }) => `${rpcUrl}, ${chainId}, wallets funded`),
  ])
  return {
    postgres: databases,
    redis: redisServer,
    redisUrl: redisServer?.url,
    rpcUrl: anvil.rpcUrl,
    anvil,
    cosmos,
  }
}

const MIGRATE_TIMEOUT_MS = 60_000

/** The migrator as an operator runs it. */
async function migrate(root: string, service: 'gateway' | 'facilitator', url: string) {
  const command = join(root, 'packages/database/bin/tollgate-database.js')
  await promisify(execFile)(process.execPath, [command, 'migrate', service], {
    env: { ...process.env, DATABASE_URL: url },
    timeout: MIGRATE_TIMEOUT_MS,
  })
}
