import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onFreePort, startProcess } from '@tollgate/processes'
import { type BenchmarkContext } from '../benchmark'
import { LONG_PATH } from '../gateway/chains'
import { requireProgram } from '../programs'
import { ANSWER } from './answer'
import { type Peer } from './peer'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>

const MEGABYTE = 1_000_000

/** The upstream of all contenders: a fixed answer, or one of a megabyte. */
export function startUpstream(place: Place): Promise<Peer> {
  const long = 'x'.repeat(MEGABYTE)
  writeFileSync(join(place.folder, LONG_PATH), `{"jsonrpc":"2.0","id":1,"result":"${long}"}`)
  return startNginx(place, 'upstream', (port) => [
    `server { listen 127.0.0.1:${port} backlog=4096;`,
    'default_type application/json;',
    `location / { return 200 '${ANSWER}'; }`,
    // A POST of a static file is refused with 405 otherwise.
    `location = ${LONG_PATH} { root ${place.folder}; error_page 405 =200 $uri; }`,
    '}',
  ])
}

/** Forwards over connections that stay open. */
export const startNginxProxy = (
  place: Place,
  upstreamUrls: readonly string[],
  name = 'nginx',
): Promise<Peer> =>
  startNginx(place, name, (port) => [
    `upstream all { ${upstreamUrls.map((url) => `server ${new URL(url).host};`).join(' ')} keepalive 1024; }`,
    `server { listen 127.0.0.1:${port} backlog=4096;`,
    'location / {',
    'proxy_pass http://all; proxy_http_version 1.1; proxy_set_header Connection "";',
    // In memory: an answer of a megabyte would be written to a file.
    'proxy_buffers 64 32k; proxy_max_temp_file_size 0;',
    '} }',
  ])

/** One worker, without an access log. */
async function startNginx(
  { folder, closeLater }: Place,
  name: string,
  serverLines: (port: number) => string[],
): Promise<Peer> {
  const command = requireProgram('nginx', 'install the Debian package nginx-light')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, `${name}-${kind}`)};`,
  )
  const start = async (port: number) => {
    const file = join(folder, `${name}.conf`)
    const lines = [
      'daemon off; master_process off; worker_processes 1;',
      `pid ${join(folder, `${name}.pid`)}; error_log stderr warn;`,
      'events { worker_connections 8192; }',
      `http { access_log off; keepalive_requests 1000000000; ${temporary.join(' ')}`,
      ...serverLines(port),
      '}',
    ]
    writeFileSync(file, lines.join('\n'))
    const url = `http://127.0.0.1:${port}`
    const logFile = join(folder, `${name}.log`)
    const ready = async () => (await fetch(url)).status < 500
    const args = ['-e', 'stderr', '-p', folder, '-c', file]
    return { url, server: await startProcess({ name, command, args, logFile, ready }) }
  }
  const starting = onFreePort(undefined, start)
  closeLater(async () => (await starting.catch(() => undefined))?.server.stop())
  const { url, server } = await starting
  return { name, url, pids: [server.pid] }
}
