import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startProcess } from '@tollgate/processes'
import { loadStreamModule } from '@tollgate/e2e/testing/nginx'
import { until } from '@tollgate/e2e/testing/paying'

/** `host:port` of each replica that gets requests. */
export type Endpoints = { gateway: readonly string[]; facilitator: readonly string[] }

/**
 * `none`: every failure reaches the client. `unsent`: nginx's default, which asks another replica if the first one refused the
 * connection, and otherwise repeats only what a client may repeat too, such as a GET.
 */
export type Retries = 'none' | 'unsent'

const NOWHERE = '127.0.0.1:1'
const NEEDED = `This scenario needs nginx and its stream module on this machine:
  apt-get install -y --no-install-recommends nginx-light libnginx-mod-stream`

/**
 * Starts nginx in front of both services: an HTTP proxy for each, as an Ingress is, and a TCP proxy for the gateways' connections to
 * the facilitators, as a Kubernetes Service is: an open connection stays with its replica, also after that got no new ones.
 *
 * @throws Error if nginx or its stream module is missing
 */
export async function startNginx(retries: Retries) {
  const loadModule = loadStreamModule()
  if (loadModule === undefined) throw new Error(NEEDED)
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-nginx-'))
  const ports = { gateway: await freePort(), facilitator: await freePort(), service: await freePort() }
  const at = (name: string) => join(folder, name)
  mkdirSync(at('temp'))
  let generation = 0
  const write = (endpoints: Endpoints) =>
    writeFileSync(
      at('nginx.conf'),
      configuration({ ports, endpoints, retries, loadModule, generation: ++generation }),
    )
  write({ gateway: [], facilitator: [] })
  const server = await startProcess({
    name: 'nginx',
    command: 'nginx',
    args: ['-p', folder, '-c', at('nginx.conf'), '-e', at('error.log')],
    logFile: at('output.log'),
    ready: () => Promise.resolve(existsSync(at('nginx.pid')) && readFileSync(at('nginx.pid'), 'utf8') !== ''),
    stopSignal: 'SIGTERM',
  })

  return {
    gatewayUrl: `http://127.0.0.1:${ports.gateway}`,
    facilitatorUrl: `http://127.0.0.1:${ports.facilitator}`,
    /** For the gateways. */
    serviceUrl: `http://127.0.0.1:${ports.service}`,

    /** Resolves once new connections go to these replicas only. */
    async use(endpoints: Endpoints) {
      write(endpoints)
      process.kill(server.pid, 'SIGHUP')
      await until(
        async () => (await fetch(`http://127.0.0.1:${ports.gateway}/nginx-generation`)).text(),
        (text) => text === String(generation),
        30,
        20,
      )
    },

    /** Lines of the access log: requests to which nginx got no response, each with the address of the replica. */
    unanswered: () =>
      readFileSync(at('access.log'), 'utf8')
        .split('\n')
        .filter((line) => / 50[24] /.test(line)),

    /** Why it got none, for HTTP requests. */
    errors: () =>
      readFileSync(at('error.log'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('[error]') && line.includes('request: ')),

    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

type Ports = { gateway: number; facilitator: number; service: number }

function configuration(parts: {
  ports: Ports
  endpoints: Endpoints
  retries: Retries
  /** The line that loads the stream module. */
  loadModule: string
  generation: number
}): string {
  const { ports, retries, loadModule, generation } = parts
  const { gateway, facilitator } = parts.endpoints
  const servers = (hosts: readonly string[]) =>
    (hosts.length > 0 ? hosts : [NOWHERE]).map((host) => `server ${host} max_fails=0;`).join(' ')
  const proxy = (port: number, name: string) => `
  upstream ${name} { ${servers(name === 'gateways' ? gateway : facilitator)} keepalive 64; }
  server {
    listen 127.0.0.1:${port} backlog=4096;
    location = /nginx-generation { access_log off; return 200 '${generation}'; }
    location / { proxy_pass http://${name}; }
  }`
  const user = process.getuid?.() === 0 ? 'user root;\n' : ''
  return `${user}${loadModule}daemon off;
worker_processes 1;
pid nginx.pid;
events { worker_connections 4096; }
http {
  log_format requests '$msec $request_time $status $upstream_status $upstream_addr $request_method $uri';
  access_log access.log requests;
  client_body_temp_path temp/body; proxy_temp_path temp/proxy; fastcgi_temp_path temp/fastcgi;
  uwsgi_temp_path temp/uwsgi; scgi_temp_path temp/scgi;
  large_client_header_buffers 4 32k;
  client_max_body_size 16m;
  proxy_buffer_size 32k; proxy_buffers 8 32k; proxy_busy_buffers_size 64k;
  proxy_http_version 1.1;
  proxy_set_header Connection '';
  proxy_set_header Host $host;
  proxy_set_header X-Forwarded-For $remote_addr;
  proxy_read_timeout 60s;
  ${retries === 'none' ? 'proxy_next_upstream off;' : ''}
${proxy(ports.gateway, 'gateways')}
${proxy(ports.facilitator, 'facilitators')}
}
stream {
  upstream facilitators { ${servers(facilitator)} }
  server {
    listen 127.0.0.1:${ports.service} backlog=4096;
    proxy_pass facilitators;
    ${retries === 'none' ? 'proxy_next_upstream off;' : ''}
  }
}
`
}
