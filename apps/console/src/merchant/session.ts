import { ApiError, isApiError } from '../api/api-error'
import { merchant } from '../texts'
import { type TokenStore } from './token-store'

/** `locked`: the service ended the session while the page was open; the requests wait for the password. */
export type SessionState = 'signed-out' | 'signed-in' | 'locked'

export type Tokens = { accessToken: string; refreshToken: string }

const isRefused = (error: unknown) => isApiError(error) && error.status === 401

/** The access token is in memory only. Many requests that need a new one share one refresh. */
export function createSession(
  store: TokenStore,
  /** @throws ApiError with status 401 if the service does not accept the token */
  refresh: (refreshToken: string) => Promise<string>,
  /** Whose access token it is. */
  userOf: (accessToken: string) => unknown,
) {
  let state: SessionState = store.read() === undefined ? 'signed-out' : 'signed-in'
  let accessToken: string | undefined
  let hadAccess = false
  let user: unknown
  let renewal: Promise<string> | undefined
  let waiting: { resolve: (accessToken: string) => void; reject: (error: Error) => void } | undefined
  const listeners = new Set<() => void>()

  function setState(next: SessionState) {
    state = next
    for (const listener of listeners) listener()
  }

  function grant(token: string): string {
    hadAccess = true
    user = userOf(token)
    accessToken = token
    return token
  }

  async function renew(): Promise<string> {
    const refreshToken = store.read()
    if (refreshToken === undefined) throw signedOut()
    try {
      const token = await refresh(refreshToken)
      if (store.read() !== refreshToken) throw signedOut()
      return grant(token)
    } catch (error) {
      if (!isRefused(error) || state === 'signed-out') throw error
      if (hadAccess) return lock()
      // The page has just been opened: there is no input to keep.
      end()
      throw error
    }
  }

  const lock = () =>
    new Promise<string>((resolve, reject) => {
      waiting = { resolve, reject }
      setState('locked')
      void adopt()
    })

  const isLocked = () => state === 'locked'

  /** Goes on with the session that the same user began in another tab, if there is one; else the password is still needed. */
  async function adopt() {
    const refreshToken = store.readNewer()
    if (!isLocked() || refreshToken === undefined) return
    const token = await refresh(refreshToken).catch(() => undefined)
    // The password may have been entered here meanwhile.
    if (!isLocked() || token === undefined || userOf(token) !== user) return
    start({ accessToken: token, refreshToken }, true)
  }

  const renewed = () => (renewal ??= renew().finally(() => (renewal = undefined)))

  function end() {
    store.clear()
    accessToken = undefined
    hadAccess = false
    waiting?.reject(signedOut())
    waiting = undefined
    setState('signed-out')
  }

  /** Also continues the requests that wait for the password. `isKept`: beyond the end of the browser tab. */
  function start(tokens: Tokens, isKept: boolean) {
    store.write(tokens.refreshToken, isKept)
    waiting?.resolve(grant(tokens.accessToken))
    waiting = undefined
    grant(tokens.accessToken)
    setState('signed-in')
  }

  return {
    state: () => state,
    subscribe(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },

    start,
    adopt,

    /** Forgets the tokens, and rejects the requests that wait for the password. */
    end,
    isKept: () => store.isKept(),

    /** Repeats a request that got 401 once, with a new access token. */
    async request<T>(send: (accessToken: string) => Promise<T>): Promise<T> {
      const token = accessToken ?? (await renewed())
      try {
        return await send(token)
      } catch (error) {
        if (!isRefused(error)) throw error
        if (accessToken === token) accessToken = undefined
        return send(accessToken ?? (await renewed()))
      }
    },
  }
}

const signedOut = () => new ApiError(401, 'SIGNED_OUT', merchant.session.signedOut)

/** The user of an access token, a JWT. */
export function subjectOf(accessToken: string): unknown {
  const [, claims = ''] = accessToken.split('.')
  return (JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) as { sub?: unknown }).sub
}
