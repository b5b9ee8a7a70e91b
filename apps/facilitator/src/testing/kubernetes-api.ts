import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { closeLater } from '@tollgate/testing'

type Data = Record<string, string>
type Secret = { version: number; data: Data }
type Patch = { metadata: { resourceVersion: string }; data: Data }
type Answer = [status: number, body: object]

export type KubernetesApi = Awaited<ReturnType<typeof startKubernetesApi>>

/**
 * The part of an API server that reads, patches and creates the Secrets of a namespace, for the one of a service account. The check of
 * k8s/README.md uses a real one.
 */
export async function startKubernetesApi({ allowed }: { allowed: string }) {
  const secrets = new Map<string, Secret>([
    [allowed, { version: 1, data: {} }],
    ['other', { version: 1, data: {} }],
  ])
  const token = 'service-account-token'
  let beforePatch: () => unknown = () => undefined
  let afterPatch: () => unknown = () => undefined
  const patches: string[] = []
  let mayCreate = true
  let requests = 0

  const server = createServer({ key: KEY, cert: CERTIFICATE }, (req, res) => {
    requests++
    const [path = ''] = (req.url ?? '').split('?')
    const name = /^\/api\/v1\/namespaces\/tollgate\/secrets\/([^/]+)$/.exec(path)?.[1] ?? ''
    const answer = async (): Promise<Answer> => {
      if (req.headers.authorization !== `Bearer ${token}`) return status(401, 'Unauthorized')
      if (path === '/api/v1/namespaces/tollgate/secrets' && req.method === 'POST')
        return create(await json(req))
      if (name !== allowed) return status(403, `secrets "${name}" is forbidden`)
      const secret = secrets.get(name)
      if (!secret) return status(404, `secrets "${name}" not found`)
      if (req.method === 'GET') return [200, toWire(name, secret)]
      const isMergePatch = req.headers['content-type'] === 'application/merge-patch+json'
      if (req.method !== 'PATCH' || !isMergePatch) return status(405, 'unsupported')
      const patch = (await json(req)) as Patch
      await beforePatch()
      const patched = secrets.get(name)
      if (!patched || patch.metadata.resourceVersion !== String(patched.version))
        return status(409, 'the object has been modified')
      patches.push(name)
      patched.version++
      Object.assign(patched.data, patch.data)
      await afterPatch()
      return [200, toWire(name, patched)]
    }
    answer().then(
      ([code, body]) => res.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body)),
      (error: unknown) => res.destroy(error as Error),
    )
  })
  async function create(body: unknown): Promise<Answer> {
    if (!mayCreate) return status(403, 'secrets is forbidden')
    const { metadata, type, data } = body as { metadata: { name: string }; type: string; data: Data }
    if (type !== 'Opaque') return status(422, `type ${type}`)
    await beforePatch()
    if (secrets.has(metadata.name)) return status(409, `secrets "${metadata.name}" already exists`)
    patches.push(metadata.name)
    const secret = { version: 1, data }
    secrets.set(metadata.name, secret)
    await afterPatch()
    return [201, toWire(metadata.name, secret)]
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-service-account-'))
  for (const [file, text] of Object.entries({ 'ca.crt': CERTIFICATE, token, namespace: 'tollgate' }))
    writeFileSync(join(folder, file), text)
  closeLater(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    rmSync(folder, { recursive: true })
  })

  return {
    folder,
    variables: {
      KUBERNETES_SERVICE_HOST: '127.0.0.1',
      KUBERNETES_SERVICE_PORT_HTTPS: String((server.address() as AddressInfo).port),
    },
    /** Secrets that were changed or created, in order. */
    patches,
    requestCount: () => requests,
    allowCreation: (isAllowed: boolean) => void (mayCreate = isAllowed),
    set: (data: Data | undefined) => {
      patches.length = 0
      if (!data) return void secrets.delete(allowed)
      const version = (secrets.get(allowed)?.version ?? 0) + 1
      secrets.set(allowed, { version, data: mapValues(data, (text) => Buffer.from(text).toString('base64')) })
    },
    data: (): Data =>
      mapValues(secrets.get(allowed)?.data ?? {}, (text) => Buffer.from(text, 'base64').toString()),
    onPatch: (hooks: { before?: () => unknown; after?: () => unknown }) => {
      beforePatch = hooks.before ?? (() => undefined)
      afterPatch = hooks.after ?? (() => undefined)
    },
  }
}

const status = (code: number, message: string): Answer => [code, { kind: 'Status', code, message }]
const toWire = (name: string, { version, data }: Secret) => ({
  kind: 'Secret',
  metadata: { name, resourceVersion: String(version) },
  ...(Object.keys(data).length > 0 ? { data } : {}),
})
const mapValues = (data: Data, change: (value: string) => string): Data =>
  Object.fromEntries(Object.entries(data).map(([name, value]) => [name, change(value)]))

/** Of 127.0.0.1, for tests only. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBlzCCAT6gAwIBAgIUbyGNMTcWKEQi6z8lso/AkQR813QwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNdG9sbGdhdGUtdGVzdDAgFw0yNjExMjYwNjM5NDdaGA8yMTI2
MTEwMjA2Mzk0N1owGDEWMBQGA1UEAwwNdG9sbGdhdGUtdGVzdDBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABJMa9vjWiFuCHZdWkhu+nYhMP6OSE9MBv4omIr84FUgh
meYazX+Id07kr4Wd4jT0mPqn+pBdnuei1lMY1XduVpqjZDBiMB0GA1UdDgQWBBQq
UpCFD9hE2Shbdr7ZAvm5+WAjOTAfBgNVHSMEGDAWgBQqUpCFD9hE2Shbdr7ZAvm5
+WAjOTAPBgNVHRMBAf8EBTADAQH/MA8GA1UdEQQIMAaHBH8AAAEwCgYIKoZIzj0E
AwIDRwAwRAIgVi+rq7xZ4XXMiJfDevoScO3LF9CVn0uEdjKG73exW+ACIC69DpIj
Ezcr+WiljE4iJZOr7gjSjNqpRU4/ykii/v8L
-----END CERTIFICATE-----
`
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg5MwA1KKXZ2J5k+QI
W1AywyvSiVcpkIyVQmpD27KyW++hRANCAASTGvb41ohbgh2XVpIbvp2ITD+jkhPT
Ab+KJiK/OBVIIZnmGs1/iHdO5K+FneI09Jj6p/qQXZ7notZTGNV3blaa
-----END PRIVATE KEY-----
`
