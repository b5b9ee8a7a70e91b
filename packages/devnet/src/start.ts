import { dirname } from 'node:path'
import { type Apps } from './apps'
import { startDevnet } from './devnet'
import { createProcessGroup } from './process-group'
import { removePostgres } from './postgres-home'
import { terminal } from './terminal'
import { openState, type State } from './state'
import { createCosmosWallet } from './demo/cosmos'
import { createEvmWallet } from './demo/evm'
import { runDemo } from './demo/demo'

export type StartOptions = {
  /** The folder of the persistent state. */
  folder: string
  once?: boolean
  fresh?: boolean
  watch?: boolean
}

const root = dirname(dirname(dirname(__dirname)))

/**
 * Starts everything, runs the demo for each kind of wallet, and then runs until a signal, or exits with `once`. Exits with 0, or
 * with 1 if a part does not start or a step of the demo fails.
 */
export async function start({
  folder,
  once = false,
  fresh = false,
  watch = false,
}: StartOptions): Promise<void> {
  const state = openState(folder)
  state.lock()
  const processes = createProcessGroup()
  let stopping: Promise<void> | undefined
  const stop = (code: number) =>
    (stopping ??= processes.stop().finally(() => {
      state.unlock()
      process.exit(code)
    }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      // A second signal exits at once; the started processes end with this one.
      if (stopping) process.exit(1)
      terminal.title('Stopping …')
      void stop(0)
    })

  try {
    if (fresh) removeState(state)
    terminal.title('Starting: test money and test keys only, on 127.0.0.1 only')
    const apps = await startDevnet({ root, state, processes, watch })
    await runDemos(apps)
    if (once) await stop(0)
    else printAddresses(state, apps)
  } catch (error) {
    if (!stopping) terminal.warn(error instanceof Error ? error.message : String(error))
    await stop(1)
  }
}

function removeState(state: State) {
  removePostgres(state.at('postgres'))
  for (const name of ['postgres', 'redis', 'anvil', 'cosmos', 'secrets.json']) state.remove(name)
}

async function runDemos({ gateway, infrastructure, serviceName, plan, cosmosPlan }: Apps) {
  const { rpcUrl, cosmos } = infrastructure
  const context = { gatewayUrl: gateway.url, serviceName, print: terminal.fact }
  terminal.title('One paid call from a new EVM wallet')
  await runDemo({ ...context, planId: plan.id }, await createEvmWallet(rpcUrl))
  terminal.title('One paid call from a new Cosmos wallet that holds the price and nothing for fees')
  const price = cosmosPlan.amount + cosmosPlan.asset_address
  await runDemo({ ...context, planId: cosmosPlan.id }, await createCosmosWallet(cosmos.rpcUrl, price))
}

function printAddresses(state: State, { gateway, facilitator, infrastructure, secrets }: Apps) {
  terminal.title('Everything is up; Ctrl-C stops it')
  terminal.fact('console', `${gateway.url}/console/ (buyers, with a development wallet)`)
  terminal.fact('', `${facilitator.url}/console/ (merchants)`)
  terminal.fact('', `${facilitator.url}/console/#/operator (operators; admin token: ${secrets.adminToken})`)
  terminal.fact('gateway', gateway.url)
  terminal.fact('facilitator', `${facilitator.url}/api/v1`)
  terminal.fact('EVM chain', infrastructure.rpcUrl)
  terminal.fact('Cosmos chain', infrastructure.cosmos.rpcUrl)
  terminal.fact('faucet', 'npm run faucet -- ADDRESS (test money for a wallet of yours, in this checkout)')
  terminal.fact(
    'limits',
    'too high for a day of tests to reach; .env.example of each app has those for production',
  )
  terminal.fact('details', `${state.at('devnet.json')} (addresses, test wallets), ${state.at('logs')}`)
  for (const [name, { occupiedPort, url }] of Object.entries({ gateway, facilitator }))
    if (occupiedPort !== undefined)
      terminal.warn(
        `Port ${occupiedPort} is in use by another program, so the ${name} is at ${url}. Use this address in the commands of the documents.`,
      )
}
