import { spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort, startProcess } from '@tollgate/processes'
import { type Tools } from './tools'

export type Cluster = Awaited<ReturnType<typeof startCluster>>

/** The output of a command, and its exit code. */
type Output = { code: number | null; out: string; err: string }

/** An API server with its etcd, without controllers and nodes: it stores and checks objects, and runs nothing. */
export async function startCluster(tools: Tools, folder: string) {
  const [client, peer, port] = [await freePort(), await freePort(), await freePort()]
  const etcdUrl = `http://127.0.0.1:${client}`
  const peerUrl = `http://127.0.0.1:${peer}`
  const stops: (() => Promise<unknown>)[] = []
  const start = async (...args: Parameters<typeof startProcess>) => {
    const { stop } = await startProcess(...args)
    stops.unshift(stop)
  }

  const args = [
    ...['--name', 'default', '--data-dir', join(folder, 'etcd'), '--unsafe-no-fsync'],
    ...['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
    ...['--initial-cluster', `default=${peerUrl}`],
  ]
  const healthy = (url: string) => async () => (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok
  await start({
    ...{ name: 'etcd', command: tools.etcd, args, logFile: join(folder, 'etcd.log') },
    ready: healthy(`${etcdUrl}/health`),
    timeoutSeconds: 60,
  })

  const server = `https://127.0.0.1:${port}`
  const token = randomBytes(24).toString('hex')
  const certificates = join(folder, 'certificates')
  mkdirSync(certificates)
  writeFileSync(join(folder, 'tokens.csv'), `${token},admin,admin,system:masters\n`)
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  const key = join(folder, 'service-accounts.pem')
  writeFileSync(key, privateKey)
  // It makes its own certificate, which is also the one that clients trust.
  const ca = join(certificates, 'apiserver.crt')
  const run = (...words: string[]) =>
    output('kubectl', ['--server', server, '--token', token, '--certificate-authority', ca, ...words])
  const kubectl = {
    /** With these documents at its input. */
    apply: (documents: string, ...words: string[]) =>
      output(
        'kubectl',
        ['--server', server, '--token', token, '--certificate-authority', ca, ...words, '-f', '-'],
        documents,
      ),
    run,
    /** @throws Error if it fails */
    async expect(...words: string[]): Promise<string> {
      const { code, out, err } = await run(...words)
      if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${err}`)
      return out
    },
  }
  await start({
    name: 'kube-apiserver',
    command: tools.apiServer,
    args: [
      ...['--etcd-servers', etcdUrl, '--bind-address', '127.0.0.1', '--secure-port', String(port)],
      ...['--cert-dir', certificates, '--token-auth-file', join(folder, 'tokens.csv')],
      ...['--service-cluster-ip-range', '10.0.0.0/24', '--endpoint-reconciler-type', 'none'],
      ...['--service-account-issuer', 'https://kubernetes.default.svc'],
      ...['--service-account-key-file', key, '--service-account-signing-key-file', key],
      ...['--authorization-mode', 'RBAC', '--anonymous-auth=false'],
    ],
    logFile: join(folder, 'kube-apiserver.log'),
    ready: async () => (await run('get', '--raw', '/readyz')).code === 0,
    timeoutSeconds: 180,
  })

  return {
    port,
    ca,
    kubectl,
    stop: async () => {
      for (const stop of stops) await stop()
    },
  }
}

const COMMAND_MS = 60_000

export function output(command: string, args: string[], input = ''): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { timeout: COMMAND_MS })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, out, err }))
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
