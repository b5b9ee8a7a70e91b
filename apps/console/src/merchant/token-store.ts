import { allowedStorage, type StoragePlace } from '../ui/allowed-storage'

const KEY = 'tollgate-merchant-refresh-token'

export type TokenStore = ReturnType<typeof createTokenStore>

/** The refresh token, in `lasting` storage if the reader wants to stay signed in, else in that of the tab. */
export function createTokenStore(tab: StoragePlace, lasting: StoragePlace) {
  let token = lasting.getItem(KEY) ?? tab.getItem(KEY) ?? undefined
  let isKept = lasting.getItem(KEY) !== null

  function clear() {
    token = undefined
    tab.removeItem(KEY)
    lasting.removeItem(KEY)
  }

  return {
    read: () => token,
    isKept: () => isKept,
    /** Of a session that another tab began since, if this one is kept. */
    readNewer() {
      const current = isKept ? lasting.getItem(KEY) : null
      return current === null || current === token ? undefined : current
    },
    /** Overwrites a kept token: other tabs take its removal for a sign-out. */
    write(next: string, keep: boolean) {
      token = next
      isKept = keep
      const [own, other] = keep ? [lasting, tab] : [tab, lasting]
      other.removeItem(KEY)
      own.setItem(KEY, next)
    },
    clear,
    isKey: (key: string | null) => key === KEY,
  }
}

export const browserTokenStore = () =>
  createTokenStore(
    allowedStorage(() => window.sessionStorage),
    allowedStorage(() => window.localStorage),
  )
