import { dirname } from 'node:path'
import { type Apps } from './apps'
import { startDevnet } from './devnet'
import { createParts } from './parts'
import { removePostgres } from './postgres-home'
import { screen } from './screen'
import { openState, type State } from './state'
import { cosmosHero } from './story/cosmos'
import { evmHero } from './story/evm'
import { tellStory } from './story/story'

export type StartOptions = {
  /** Holds all that outlives a start. */
  folder: string
  once?: boolean
  fresh?: boolean
  watch?: boolean
}

const root = dirname(dirname(dirname(__dirname)))

/**
 * Brings everything up, tells the story of one paid call for each kind of wallet, and stays up until it is told to stop; with `once` it stops
 * after that. Ends the process: with 0, or with 1 if a part did not start or a step of the story did not hold.
 */
export async function start({
  folder,
  once = false,
  fresh = false,
  watch = false,
}: StartOptions): Promise<void> {
  const state = openState(folder)
  state.lock()
  const parts = createParts()
  let stopping: Promise<void> | undefined
  const stop = (code: number) =>
    (stopping ??= parts.stop().finally(() => {
      state.unlock()
      process.exit(code)
    }))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => {
      // Whoever asks twice does not want to wait; nothing that was started outlives this process.
      if (stopping) process.exit(1)
      screen.title('Stopping …')
      void stop(0)
    })

  try {
    if (fresh) forget(state)
    screen.title('Starting: test money and test keys only, on 127.0.0.1 only')
    const apps = await startDevnet({ root, state, parts, watch })
    await tellStories(apps)
    if (once) await stop(0)
    else tellWhere(state, apps)
  } catch (error) {
    if (!stopping) screen.warn(error instanceof Error ? error.message : String(error))
    await stop(1)
  }
}

function forget(state: State) {
  removePostgres(state.at('postgres'))
  for (const name of ['postgres', 'redis', 'anvil', 'cosmos', 'secrets.json']) state.remove(name)
}

async function tellStories({ gateway, foundation, serviceName, plan, cosmosPlan }: Apps) {
  const { rpcUrl, cosmos } = foundation
  const world = { gatewayUrl: gateway.url, serviceName, say: screen.fact }
  screen.title('One paid call, from an EVM wallet that was never here before')
  await tellStory({ ...world, planId: plan.id }, await evmHero(rpcUrl))
  screen.title('The same for a Cosmos wallet, which holds the price and nothing for fees')
  const price = cosmosPlan.amount + cosmosPlan.asset_address
  await tellStory({ ...world, planId: cosmosPlan.id }, await cosmosHero(cosmos.rpcUrl, price))
}

function tellWhere(state: State, { gateway, facilitator, foundation }: Apps) {
  screen.title('Everything is up; Ctrl-C stops it')
  screen.fact('gateway', gateway.url)
  screen.fact('facilitator', `${facilitator.url}/api/v1`)
  screen.fact('EVM chain', foundation.rpcUrl)
  screen.fact('Cosmos chain', foundation.cosmos.rpcUrl)
  screen.fact(
    'limits',
    'so wide that a day of tests never meets them; production has its own (.env.example of each app)',
  )
  screen.fact('the rest', `${state.at('devnet.json')} (addresses, test wallets), ${state.at('logs')}`)
}
