import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onFreePort, startProcess } from '@tollgate/processes'
import { type BenchmarkContext } from '../benchmark'
import { findProgram } from '../programs'
import { type MissingPeer, type Peer } from './peer'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater' | 'progress'>

const VERSION = '0.1.2'
const PACKAGE = `github.com/erpc/erpc/cmd/erpc@${VERSION}`
const BUILD_TIMEOUT_MS = 900_000
export const ERPC_PATH = '/main/evm/1'

/**
 * eRPC, which forwards every call: no cache, no sharing of one answer by equal calls, no retries, no metrics server, no log below
 * errors.
 */
export async function startErpc(place: Place, upstreamUrl: string): Promise<Peer | MissingPeer> {
  const command = findProgram('erpc') ?? (await build(place))
  if (typeof command === 'object') return command
  const { folder, closeLater } = place
  const start = async (port: number) => {
    const file = join(folder, 'erpc.yaml')
    writeFileSync(file, configuration(port, upstreamUrl))
    const url = `http://127.0.0.1:${port}`
    const ready = () => answers(`${url}${ERPC_PATH}`)
    const logFile = join(folder, 'erpc.log')
    return {
      url,
      server: await startProcess({ name: 'eRPC', command, args: ['--config', file], logFile, ready }),
    }
  }
  const starting = onFreePort(undefined, start)
  closeLater(async () => (await starting.catch(() => undefined))?.server.stop())
  const { url, server } = await starting
  return { name: 'eRPC', url, pids: [server.pid] }
}

/** From the registry, once; the program stays for later runs. */
async function build({ progress }: Pick<Place, 'progress'>): Promise<string | MissingPeer> {
  const go = findProgram('go')
  if (go === undefined) return { missing: 'eRPC: neither erpc nor go is on the PATH' }
  const folder = join(homedir(), '.cache/tollgate-bench/bin')
  mkdirSync(folder, { recursive: true })
  const built = findProgram('erpc', [folder])
  if (built !== undefined) return built
  progress(`building ${PACKAGE}`)
  try {
    const env = { ...process.env, GOBIN: folder }
    await promisify(execFile)(go, ['install', PACKAGE], { env, timeout: BUILD_TIMEOUT_MS })
    return join(folder, 'erpc')
  } catch {
    return { missing: `eRPC: not on the PATH, and \`go install ${PACKAGE}\` failed` }
  }
}

async function answers(url: string): Promise<boolean> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_gasPrice', params: [] })
  const { status } = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  return status === 200
}

const configuration = (port: number, upstreamUrl: string) => `
logLevel: error
server: { listenV4: true, httpHostV4: 127.0.0.1, httpPortV4: ${port}, listenV6: false }
metrics: { enabled: false }
projects:
  - id: main
    networks:
      - architecture: evm
        evm: { chainId: 1 }
        multiplexing: false
    upstreams:
      - id: node
        type: evm
        endpoint: ${upstreamUrl}
        evm: { chainId: 1, statePollerInterval: 0 }
        jsonRpc: { supportsBatch: false }
`
