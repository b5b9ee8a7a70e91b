import { requestJson, sendRequest, type Method, type RequestOptions } from '../api/api'
import { createSession, subjectOf } from './session'
import { browserTokenStore } from './token-store'

const API = '/api/v1'

type Data<T> = { data: T }
type Credentials = { email: string; password: string }

const store = browserTokenStore()

async function refresh(refreshToken: string): Promise<string> {
  const body = { refresh_token: refreshToken }
  const { data } = await requestJson<Data<{ access_token: string }>>('POST', `${API}/token/refresh`, { body })
  return data.access_token
}

export const session = createSession(store, refresh, subjectOf)

// Another tab has signed out, or begun a session.
window.addEventListener('storage', ({ key, newValue }) => {
  if (!store.isKey(key) || !store.isKept()) return
  if (newValue === null) session.end()
  else void session.adopt()
})

/** A request without a session. */
export const askPublic = async <T>(method: Method, path: string, options?: RequestOptions): Promise<T> =>
  (await requestJson<Data<T>>(method, API + path, options)).data

export async function signIn({ email, password }: Credentials, isKept: boolean) {
  const tokens = await askPublic<{ access_token: string; refresh_token: string }>('POST', '/login', {
    body: { email, password },
  })
  session.start({ accessToken: tokens.access_token, refreshToken: tokens.refresh_token }, isKept)
}

const LOGOUT_TIMEOUT_MS = 3_000

/** Forgets the tokens even if the service does not answer. */
export async function signOut() {
  if (session.state() === 'signed-in')
    await ask('POST', '/logout', { signal: AbortSignal.timeout(LOGOUT_TIMEOUT_MS) }).catch(() => undefined)
  session.end()
}

const withToken = ({ headers, ...options }: RequestOptions, accessToken: string): RequestOptions => ({
  ...options,
  headers: { ...headers, authorization: `Bearer ${accessToken}` },
})

/** A request of the signed-in user. @throws ApiError */
export const ask = async <T>(method: Method, path: string, options: RequestOptions = {}): Promise<T> =>
  session.request(async (token) => askPublic<T>(method, path, withToken(options, token)))

/** The same for responses that are no JSON. `path` is that of the service. */
export const sendAsUser = (method: Method, path: string, options: RequestOptions = {}): Promise<Response> =>
  session.request((token) => sendRequest(method, path, withToken(options, token)))

export const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  ask<T>('GET', path, { signal })
