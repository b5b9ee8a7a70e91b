import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onFreePort, type ProcessExit, startProcess } from '@tollgate/processes'
import { callRpc } from './call-rpc'
import { type Restored } from './node/block-log'
import { type Pace } from './node/block-producer'

export type CosmosOptions = {
  /** Holds the chain between starts; without it the chain is forgotten when it stops. */
  folder?: string
  /** Preferred; another one is taken if it is busy. */
  port?: number
  /** Seconds between blocks, and then nothing is mined in between. Without it a transaction is mined at once, and a block comes each second. */
  blockTime?: number
  onExit?: (exit: ProcessExit) => void
}

/** The network's name too. */
export const COSMOS_CHAIN_ID = 'tollgate-devnet-1'

/** As built, also where a test runs our sources. */
const PROGRAM = join(__dirname, '..', 'dist', 'main.js')

/**
 * Starts a Cosmos chain on 127.0.0.1 that goes on where it was stopped: a process of ours that answers CometBFT's JSON-RPC and checks
 * transactions as the Cosmos SDK does. For development only: one node that agrees with itself, and coins for the development wallets.
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
        // Another copy's chain answers under another name.
        return info.instance === instance
      },
      onExit,
    })
    return { server: started, rpcUrl: url, restored: found }
  })

  /** How blocks come from now on. What waits when they come with every transaction again is mined at once. */
  async function setPace(pace: Pace) {
    await callRpc(rpcUrl, 'dev_setPace', pace)
  }

  async function stop() {
    await server.stop()
    if (temporary !== undefined) rmSync(temporary, { recursive: true, force: true })
  }

  return { rpcUrl, chainId: COSMOS_CHAIN_ID, pid: server.pid, restored, setPace, stop }
}
