import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onFreePort, type ProcessExit, startProcess } from '@tollgate/processes'
import { callRpc } from './call-rpc'
import { type Restored } from './node/block-log'
import { type Pace } from './node/block-producer'

export type CosmosOptions = {
  /** Keeps the chain between starts; without it the chain is deleted when it stops. */
  folder?: string
  /** Preferred; if it is in use, a free one. */
  port?: number
  /** Seconds between blocks. Without it a block is created for each transaction and each second. */
  blockTime?: number
  onExit?: (exit: ProcessExit) => void
}

/** Also the name of the network. */
export const COSMOS_CHAIN_ID = 'tollgate-devnet-1'

/** The compiled program, also when a test runs the sources. */
const PROGRAM = join(__dirname, '..', 'dist', 'main.js')

/**
 * Starts the Cosmos chain on 127.0.0.1 as a process, from the state in its folder. DEVELOPMENT ONLY: one validator, and coins for the
 * development wallets.
 */
export async function startCosmos(options: CosmosOptions = {}) {
  const { blockTime, onExit } = options
  const temporary = options.folder === undefined ? mkdtempSync(join(tmpdir(), 'tollgate-cosmos-')) : undefined
  const folder = options.folder ?? temporary ?? ''
  mkdirSync(folder, { recursive: true })
  const instance = randomUUID()
  const args = [PROGRAM, '--folder', folder, '--chain-id', COSMOS_CHAIN_ID, '--instance', instance]
  if (blockTime !== undefined) args.push('--block-seconds', String(blockTime))

  const { server, rpcUrl, restored } = await onFreePort(options.port, async (port) => {
    const url = `http://127.0.0.1:${port}`
    let found: Restored = 'new'
    const started = await startProcess({
      name: 'cosmos',
      command: process.execPath,
      args: [...args, '--port', String(port)],
      cwd: folder,
      logFile: join(folder, 'cosmos.log'),
      ready: async () => {
        const info = (await callRpc(url, 'dev_info')) as { instance: string; restored: Restored }
        found = info.restored
        // The chain of another checkout may answer on this port.
        return info.instance === instance
      },
      onExit,
    })
    return { server: started, rpcUrl: url, restored: found }
  })

  /** `at-once` also creates a block for the transactions that are pending. */
  async function setPace(pace: Pace) {
    await callRpc(rpcUrl, 'dev_setPace', pace)
  }

  async function stop() {
    await server.stop()
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
  }

  return { rpcUrl, chainId: COSMOS_CHAIN_ID, pid: server.pid, restored, setPace, stop }
}
