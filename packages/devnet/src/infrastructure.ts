import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startCosmos } from '@tollgate/cosmos-devchain'
import { type ProcessExit } from '@tollgate/processes'
import { startAnvil } from './evm/anvil'
import { deployContracts, fundWallets } from './evm/deploy'
import { type ProcessGroup } from './process-group'
import { startPostgres } from './postgres'
import { startRedis } from './redis'
import { terminal, timed } from './terminal'
import { type State } from './state'

export type Infrastructure = Awaited<ReturnType<typeof startInfrastructure>>

const onExit = ({ name, output }: ProcessExit) =>
  terminal.warn(`${name} ended unexpectedly; stop with Ctrl-C and start again. Its last output:\n${output}`)

/** Postgres with both databases migrated, Redis if available, and two chains. */
export async function startInfrastructure({
  root,
  state,
  processes,
}: {
  root: string
  state: State
  processes: ProcessGroup
}) {
  const postgres = async () => {
    const server = await processes.addInfrastructure(
      startPostgres({ folder: state.at('postgres'), port: 54320, onExit }),
    )
    const gateway = await server.createDatabase('gateway')
    const facilitator = await server.createDatabase('facilitator')
    await Promise.all([migrate(root, 'gateway', gateway), migrate(root, 'facilitator', facilitator)])
    return { port: server.port, gateway, facilitator, server }
  }
  const redis = () =>
    processes.addInfrastructure(startRedis({ folder: state.at('redis'), port: 63790, onExit }))
  const chain = async () => {
    const anvil = await processes.addInfrastructure(
      startAnvil({ folder: state.at('anvil'), port: 8545, onExit }),
    )
    await deployContracts(anvil.rpcUrl)
    await fundWallets(anvil.rpcUrl)
    return anvil
  }
  const cosmosChain = () =>
    processes.addInfrastructure(startCosmos({ folder: state.at('cosmos'), port: 26657, onExit }))

  const [databases, redisServer, anvil, cosmos] = await Promise.all([
    timed('Postgres', postgres, ({ port }) => `port ${port}, both databases migrated`),
    timed(
      'Redis',
      redis,
      (server) => server?.url ?? 'not on the PATH; each service uses an in-process store',
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

/** Runs the migrator's command line, as an operator does. */
async function migrate(root: string, service: 'gateway' | 'facilitator', url: string) {
  const command = join(root, 'packages/database/bin/tollgate-database.js')
  await promisify(execFile)(process.execPath, [command, 'migrate', service], {
    env: { ...process.env, DATABASE_URL: url },
    timeout: MIGRATE_TIMEOUT_MS,
  })
}
