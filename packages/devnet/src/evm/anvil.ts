import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { anvilBinary, runnable } from '../binaries'
import { onFreePort, type ProcessExit, startProcess } from '@tollgate/processes'
import { prepareChainState } from './chain-state'
import { callRpc } from './rpc'

export type AnvilOptions = {
  /** Holds the chain between starts; without it the chain is forgotten when it stops. */
  folder?: string
  /** Preferred; another one is taken if it is busy. */
  port?: number
  chainId?: number
  /** Seconds between blocks, and then nothing is mined in between. Without it a transaction is mined at once. */
  blockTime?: number
  onExit?: (exit: ProcessExit) => void
}

/** How blocks come: with every transaction and in intervals besides, in intervals only, or not at all. */
type Pace = 'at-once' | 'by-interval' | 'stopped'

/** Base's own pace: the chain's clock is never further behind than this, busy or idle. */
const BLOCK_SECONDS = 2
const PORT_LOST_MS = 400
/** How far back a call may look and a reorg may reach. Anvil keeps a copy of all accounts for each. */
const STATES_KEPT = 64
/** What a killed anvil forgets; one that is stopped, by us or because we died, forgets nothing. */
const SAVE_SECONDS = 5

/**
 * Starts a chain on 127.0.0.1 that has no accounts of its own and goes on where it was stopped. Its clock follows the wall clock: a block
 * is mined at start and every two seconds, because contracts compare deadlines with the time of a block, and an idle anvil stands still.
 * The blocks come from here and not from anvil's `--block-time`, which keeps some four megabytes for every block it ever made.
 */
export async function startAnvil(options: AnvilOptions = {}) {
  const { chainId = 84532, blockTime, onExit } = options
  const temporary = options.folder === undefined ? mkdtempSync(join(tmpdir(), 'tollgate-chain-')) : undefined
  const folder = options.folder ?? temporary ?? ''
  mkdirSync(folder, { recursive: true })
  const state = prepareChainState(folder)
  const args = ['--host', '127.0.0.1', '--chain-id', String(chainId), '--accounts', '0', '--quiet']
  args.push(
    '--state',
    state.file,
    '--state-interval',
    String(SAVE_SECONDS),
    '--prune-history',
    String(STATES_KEPT),
  )
  if (blockTime !== undefined) args.push('--no-mining')

  const { server, rpcUrl } = await onFreePort(options.port, async (port) => {
    const url = `http://127.0.0.1:${port}`
    const started = await startProcess({
      name: 'anvil',
      command: runnable(anvilBinary(), folder),
      args: [...args, '--port', String(port)],
      // Whatever anvil thinks worth caching stays here, and not in the home folder.
      env: { ...process.env, HOME: folder },
      cwd: folder,
      logFile: join(folder, 'anvil.log'),
      ready: async () => {
        if (Number(await callRpc(url, 'eth_chainId')) !== chainId) return false
        // Another copy's chain may have answered: ours would have ended by now, for want of its port.
        await delay(PORT_LOST_MS)
        return true
      },
      stopSeconds: 4,
      onExit,
    })
    return { server: started, rpcUrl: url }
  })

  const mine = () => callRpc(rpcUrl, 'evm_mine')
  let isStopped = false
  const clock = setInterval(
    () => {
      if (!isStopped) void mine().catch(() => undefined)
    },
    (blockTime ?? BLOCK_SECONDS) * 1000,
  )
  clock.unref()

  /** How blocks come from now on. What waits when they come with every transaction again is mined at once. */
  async function setPace(pace: Pace) {
    isStopped = pace === 'stopped'
    await callRpc(rpcUrl, 'evm_setAutomine', pace === 'at-once')
    if (pace === 'at-once') await mine()
  }

  async function stop() {
    clearInterval(clock)
    await server.stop()
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
  }

  try {
    await mine()
  } catch (problem) {
    await stop()
    throw problem
  }
  return { rpcUrl, chainId, pid: server.pid, restored: state.restored, setPace, stop }
}
