import { join } from 'node:path'
import { SERVICE_NODE_OPTIONS } from '@tollgate/devnet'
import { onFreePort, startProcess } from '@tollgate/processes'
import { type BenchmarkContext } from './benchmark'
import { root } from './machine'
import { type Peer } from './peers/peer'

/** `pid`: of its only process. */
export type NodeServer = Peer & { pid: number; logFile: string; stop: () => Promise<void> }

type NodeServerOptions = {
  name: string
  args: readonly string[]
  cwd?: string
  environment: NodeJS.ProcessEnv
}

/** A server of Node that listens on PORT and answers `GET /ready` with 200, with the heap of our services. */
export async function startNodeServer(
  { folder, closeLater }: Pick<BenchmarkContext, 'folder' | 'closeLater'>,
  { name, args, cwd = root, environment }: NodeServerOptions,
): Promise<NodeServer> {
  const logFile = join(folder, `${name}.log`)
  const starting = onFreePort(undefined, async (port) => {
    const url = `http://127.0.0.1:${port}`
    const { pid, stop } = await startProcess({
      name,
      command: process.execPath,
      args: [...args],
      cwd,
      env: {
        PATH: process.env['PATH'],
        NODE_OPTIONS: SERVICE_NODE_OPTIONS,
        ...environment,
        PORT: String(port),
        METRICS_PORT: '0',
      },
      logFile,
      ready: async () => (await fetch(`${url}/ready`)).status === 200,
      stopSeconds: 20,
    })
    return { name, url, pid, pids: [pid], logFile, stop }
  })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  return starting
}
