import { randomBytes } from 'node:crypto'
import { until } from './paying'

export type ClientKey = { clientId: string; token: string }

export async function newThirdParty(facilitator: { url: string }) {
  const api = `${facilitator.url}/api/v1`
  async function send(method: string, path: string, { body, token }: { body?: object; token?: string }) {
    const answer = await fetch(`${api}${path}`, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${method} ${path} was answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as { data: unknown }
  }
  const account = {
    email: `${randomBytes(8).toString('hex')}@example.com`,
    password: randomBytes(12).toString('hex'),
  }
  await send('POST', '/signup', { body: account })
  const login = await send('POST', '/login', { body: account })
  const { access_token: token } = login.data as { access_token: string }

  const isTaken = async ({ clientId, token }: ClientKey) => {
    const headers = { 'X-Client-ID': clientId, 'X-Client-Token': token }
    return (await fetch(`${api}/supported`, { headers })).status !== 401
  }

  return {
    async newKey(options: { scope?: string; ttl_hours?: number } = {}): Promise<ClientKey> {
      const { data } = await send('POST', '/clients', { body: { title: 'Shop', ...options }, token })
      return (data as { client: ClientKey }).client
    },
    async revoke({ clientId }: ClientKey): Promise<void> {
      await send('DELETE', `/clients/${clientId}`, { token })
    },
    /** Resolves once the facilitator rejects the key. */
    async expired(key: ClientKey): Promise<void> {
      await until(
        () => isTaken(key),
        (taken) => !taken,
      )
    },
  }
}
