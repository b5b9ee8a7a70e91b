import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startProcess } from '@tollgate/processes'
import { type BenchmarkContext } from '../benchmark'
import { type Peer } from './peer'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>

/** Starts a server of this folder, which prints its port. */
async function startNodePeer(
  { folder, closeLater }: Place,
  {
    name,
    script,
    args = [],
    env = {},
  }: { name: string; script: string; args?: string[]; env?: NodeJS.ProcessEnv },
): Promise<Peer> {
  const logFile = join(folder, `${name.replaceAll(' ', '-')}.log`)
  const starting = startProcess({
    name,
    command: process.execPath,
    args: [join(__dirname, '../../dist/peers', script), ...args],
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    logFile,
    ready: /listening on \d+/,
  })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const { pid } = await starting
  const port = /listening on (\d+)/.exec(readFileSync(logFile, 'utf8'))?.[1] ?? ''
  return { name, url: `http://127.0.0.1:${port}`, pids: [pid] }
}

export const startBareProxy = (place: Place, upstreamUrl: string): Promise<Peer> =>
  startNodePeer(place, { name: 'bare proxy', script: 'bare-proxy-server.js', args: [upstreamUrl] })

export const startConventionalStack = (
  place: Place,
  { databaseUrl, secret, upstreamUrl }: { databaseUrl: string; secret: string; upstreamUrl: string },
): Promise<Peer> =>
  startNodePeer(place, {
    name: 'conventional stack',
    script: 'conventional-server.js',
    env: { DATABASE_URL: databaseUrl, JWT_SECRET: secret, UPSTREAM_URL: upstreamUrl },
  })

export const startNodeUpstream = (place: Place): Promise<Peer> =>
  startNodePeer(place, { name: 'upstream', script: 'upstream-server.js' })
