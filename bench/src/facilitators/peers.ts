import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { startProcess } from '@tollgate/processes'
import { root } from '../machine'
import { findProgram } from '../programs'
import { CHAIN_ID } from './chain'
import { type Contender, type ContenderOptions, type Place } from './contender'

const LISTENING = /listening on (\d+)/
const peersFolder = join(root, 'bench/src/peers')
const X402_RS = 'x402-rs-peer'

export function peerVersions(): Record<string, string> {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const { version } = JSON.parse(read('bench/node_modules/@x402/evm/package.json')) as { version: string }
  const manifest = read('bench/src/peers/x402-rs/Cargo.toml')
  const x402Rs = /^x402-facilitator-local = "=([\d.]+)"$/m.exec(manifest)?.[1] ?? 'unknown'
  return { '@x402/evm': version, 'x402-rs': x402Rs }
}

/** The TypeScript reference facilitator. */
export const startReference = (place: Place, { chain, nodeUrl }: ContenderOptions): Promise<Contender> =>
  startPeer(place, {
    name: 'reference',
    command: process.execPath,
    args: [join(root, 'bench/dist/peers/reference.js')],
    env: { RPC_URL: nodeUrl, SIGNER_KEY: chain.signers.reference, NODE_ENV: 'production' },
  })

/** x402-rs from the PATH, or built from crates.io if Cargo is installed; otherwise why it is not there. */
export async function startX402Rs(
  place: Place,
  { chain, nodeUrl }: ContenderOptions,
): Promise<Contender | { missing: string }> {
  const command = findProgram(X402_RS) ?? (await buildX402Rs(place))
  if (command === undefined) return { missing: `${X402_RS} is not on the PATH, and cargo could not build it` }
  const settings = {
    signers: [chain.signers.x402Rs],
    rpc: [{ http: nodeUrl }],
    receipt_timeout_secs: 120,
  }
  const args = [JSON.stringify(settings), `eip155:${CHAIN_ID}`]
  return startPeer(place, { name: 'x402-rs', command, args, env: {} })
}

async function buildX402Rs({ progress }: Place): Promise<string | undefined> {
  const cargo = findProgram('cargo')
  if (cargo === undefined) return undefined
  const target = join(root, 'node_modules/.cache/tollgate-bench/x402-rs')
  progress('building x402-rs, which takes minutes the first time')
  const manifest = join(peersFolder, 'x402-rs/Cargo.toml')
  const jobs = String(Math.max(1, availableParallelism() - 1))
  const build = spawn(
    cargo,
    ['build', '--release', '--locked', '--manifest-path', manifest, '--target-dir', target, '--jobs', jobs],
    { stdio: 'ignore' },
  )
  const [code] = (await once(build, 'exit')) as [number | null]
  return code === 0 ? join(target, 'release', X402_RS) : undefined
}

async function startPeer(
  { folder, closeLater }: Place,
  peer: { name: string; command: string; args: string[]; env: NodeJS.ProcessEnv },
): Promise<Contender> {
  const logFile = join(folder, `${peer.name}.log`)
  const { PATH, HOME } = process.env
  const service = await startProcess({
    ...peer,
    env: { PATH, HOME, ...peer.env },
    logFile,
    ready: LISTENING,
  })
  closeLater(() => service.stop())
  const port = LISTENING.exec(readFileSync(logFile, 'utf8'))?.[1] ?? ''
  return { url: `http://127.0.0.1:${port}`, pid: service.pid, headers: {} }
}
