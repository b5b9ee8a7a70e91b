import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { anvilBinary, runnable } from '../binaries'
import { onFreePort, type ProcessExit, startProcess } from '@tollgate/processes'
import { prepareChainState } from './chain-state'
import { callRpc } from './rpc'

export type AnvilOptions = {
  /** Keeps the chain between starts; without it the chain is deleted when it stops. */
  folder?: string
  /** Preferred; if it is in use, a free one. */
  port?: number
  chainId?: number
  /** Seconds between blocks. Without it a block is mined for each transaction and every two seconds. */
  blockTime?: number
  onExit?: (exit: ProcessExit) => void
}

/** When a block is created: for each transaction and at each interval, at each interval only, or never. */
type Pace = 'at-once' | 'by-interval' | 'stopped'

/** The block interval of Base, and the maximum age of the latest block. */
const BLOCK_SECONDS = 2
const PORT_LOST_MS = 400
/** Maximum depth of calls and reorgs. Anvil keeps a copy of all accounts for each block. */
const STATES_KEPT = 64
/** Maximum loss of a killed anvil. A stopped one, by us or by the watchdog, loses nothing. */
const SAVE_SECONDS = 5

/**
 * Starts a chain without accounts on 127.0.0.1, from the state in its folder. Its clock follows the wall clock: a block is mined at
 * start and every two seconds, because contracts compare deadlines with the block time, and an idle anvil does not advance it. We
 * mine these blocks ourselves because anvil's `--block-time` keeps about 4 MB for each block.
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
      // Keeps anvil's cache out of the home folder.
      env: { ...process.env, HOME: folder },
      cwd: folder,
      logFile: join(folder, 'anvil.log'),
      ready: async () => {
        if (Number(await callRpc(url, 'eth_chainId')) !== chainId) return false
        // The chain of another checkout may have answered; ours would have ended, because its port is in use.
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

  /** `at-once` also creates a block for the transactions that are pending. */
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
