import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { ConfigurationError } from '@tollgate/service'
import { z } from 'zod'
import {
  type ClientKey,
  ID_VARIABLE,
  keyFrom,
  KeyPlaceError,
  type KeyPlace,
  TOKEN_VARIABLE,
} from './key-place'

/** Where Kubernetes mounts the token of a pod's service account. */
const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'
const TIMEOUT_MS = 10_000

const Secret = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  data: z.record(z.string(), z.base64()).nullish(),
})

type Call = { method: 'GET' | 'PATCH' | 'POST'; path: string; body?: object }
type Server = { host: string; port: string; ca: Buffer; token: string; namespace: string }

/**
 * A Secret, through the API server of the pod's cluster. The service account needs `get` and `patch` of it, and `create` of Secrets
 * if it does not exist.
 */
export function kubernetesSecret(
  { namespace, name }: { namespace: string | undefined; name: string },
  variables: NodeJS.ProcessEnv,
  serviceAccount = SERVICE_ACCOUNT,
): KeyPlace {
  const server = serverOf(variables, serviceAccount)
  const at = namespace ?? server.namespace
  const all = `/api/v1/namespaces/${at}/secrets`
  const place = `Secret ${at}/${name}`

  async function send(method: Call['method'], expected: readonly number[], body?: object) {
    const path = method === 'POST' ? all : `${all}/${name}`
    const answer = await call(server, { method, path, ...(body && { body }) }).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error)
      throw new KeyPlaceError(`${place}: the API server of Kubernetes did not answer: ${reason}`)
    })
    if (expected.includes(answer.status)) return answer
    throw new KeyPlaceError(`${place}: the API server answered ${answer.status}: ${reasonIn(answer.body)}`)
  }

  return {
    name: place,
    async read() {
      const answer = await send('GET', [200, 404])
      if (answer.status === 404) return { key: undefined, write: create }
      const { data: secret } = Secret.safeParse(parseJson(answer.body))
      if (!secret) throw new KeyPlaceError(`${place}: the API server answered with something else`)
      const valueOf = (key: string) => Buffer.from(secret.data?.[key] ?? '', 'base64').toString()
      return {
        key: keyFrom(place, valueOf(ID_VARIABLE), valueOf(TOKEN_VARIABLE)),
        async write(key) {
          // With the version that was read, the API server refuses the change of anything newer.
          const { resourceVersion } = secret.metadata
          const body = { metadata: { resourceVersion }, data: dataOf(key) }
          return (await send('PATCH', [200, 409], body)).status === 200
        },
      }
    },
  }

  /** False if another one has created it meanwhile: its key stays. */
  async function create(key: ClientKey): Promise<boolean> {
    const labels = { 'app.kubernetes.io/part-of': 'tollgate' }
    const secret = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: { name, labels } }
    return (await send('POST', [201, 409], { ...secret, data: dataOf(key) })).status === 201
  }
}

const dataOf = ({ id, token }: ClientKey) => ({ [ID_VARIABLE]: encode(id), [TOKEN_VARIABLE]: encode(token) })

function serverOf(variables: NodeJS.ProcessEnv, folder: string): Server {
  const host = variables['KUBERNETES_SERVICE_HOST']
  if (!host)
    throw new ConfigurationError(['KUBERNETES_SERVICE_HOST is not set: this is no pod of Kubernetes'])
  const read = (file: string) => {
    try {
      return readFileSync(join(folder, file))
    } catch {
      throw new ConfigurationError([
        `${join(folder, file)} cannot be read: mount the service account's token`,
      ])
    }
  }
  return {
    host,
    port: variables['KUBERNETES_SERVICE_PORT_HTTPS'] ?? variables['KUBERNETES_SERVICE_PORT'] ?? '443',
    ca: read('ca.crt'),
    token: read('token').toString().trim(),
    namespace: read('namespace').toString().trim(),
  }
}

async function call({ host, port, ca, token }: Server, { method, path, body }: Call) {
  const { status, response } = await new Promise<{ status: number; response: NodeJS.ReadableStream }>(
    (resolve, reject) => {
      const headers = {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(body && {
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
        }),
      }
      const signal = AbortSignal.timeout(TIMEOUT_MS)
      const sent = request({ host, port, ca, method, path: `${path}${query(method)}`, headers, signal })
      sent.on('error', reject)
      sent.on('response', (message) => resolve({ status: message.statusCode ?? 0, response: message }))
      sent.end(body && JSON.stringify(body))
    },
  )
  return { status, body: await text(response) }
}

/** `fieldValidation`: an API server that does not know a field refuses instead of dropping it. */
const query = (method: Call['method']) =>
  method === 'GET' ? '' : '?fieldManager=tollgate-client-key&fieldValidation=Strict'

const encode = (value: string) => Buffer.from(value).toString('base64')

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

/** The message of a `Status` of the API server, which names objects and users only. */
function reasonIn(body: string): string {
  const { data } = z.object({ message: z.string() }).safeParse(parseJson(body))
  return data?.message ?? 'without a reason'
}
