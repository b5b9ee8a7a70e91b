import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callRpc } from '../call-rpc'
import { startNode } from '../node/node'
import { type Pace } from '../node/block-producer'

const CHAIN_ID = 'tollgate-devnet-1'
const AN_HOUR = 3600

export type TestNode = Awaited<ReturnType<typeof openNode>>

/** The development chain in this process, from the sources. Blocks are created on request, or by `pace`. */
export async function openNode({ pace = 'stopped' }: { pace?: Pace } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cosmos-'))
  const node = await startNode({ chainId: CHAIN_ID, folder, port: 0, instance: '', blockSeconds: AN_HOUR })
  const { rpcUrl, chain } = node
  const call = (method: string, ...parameters: unknown[]) => callRpc(rpcUrl, method, ...parameters)
  await call('dev_setPace', pace)
  return {
    chain,
    rpcUrl,
    call,
    async close() {
      await node.stop()
      rmSync(folder, { recursive: true })
    },
  }
}
