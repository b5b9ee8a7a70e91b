import { fetchJson, type JsonResponse } from './fetch-json'
import { type Secrets } from './state'

type ClientKey = NonNullable<Secrets['clientKey']>

/** The gateway's client key, created through the public API unless the stored one is still valid. */
export async function obtainClientKey(apiUrl: string, secrets: Secrets): Promise<ClientKey> {
  if (secrets.clientKey && (await works(apiUrl, secrets.clientKey))) return secrets.clientKey
  const accessToken = await logIn(apiUrl, secrets)
  const headers = { authorization: `Bearer ${accessToken}` }
  const answer = await fetchJson<{ data: { client: ClientKey } }>(`${apiUrl}/clients`, {
    headers,
    body: { title: 'Gateway of this development network', scope: 'verify,settle,supported,settlements' },
  })
  const { clientId, token } = expectOk(answer).data.client
  return { clientId, token }
}

async function works(apiUrl: string, { clientId, token }: ClientKey): Promise<boolean> {
  const headers = { 'x-client-id': clientId, 'x-client-token': token }
  return (await fetchJson(`${apiUrl}/supported`, { headers })).status === 200
}

async function logIn(apiUrl: string, { operator }: Secrets): Promise<string> {
  type Login = { data: { access_token: string } }
  const known = await fetchJson<Login>(`${apiUrl}/login`, { body: operator })
  if (known.status === 200) return known.body.data.access_token
  expectOk(await fetchJson(`${apiUrl}/signup`, { body: operator }))
  return expectOk(await fetchJson<Login>(`${apiUrl}/login`, { body: operator })).data.access_token
}

/** The error does not contain the body, which may hold a secret. */
function expectOk<T>({ url, status, body }: JsonResponse<T>): T {
  if (status === 200) return body
  throw new Error(`${url} returned ${status}`)
}
