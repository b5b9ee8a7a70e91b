import { type EphemeralStore } from '@tollgate/service'
import { randomBytes } from 'node:crypto'

export const NONCE_TTL_SECONDS = 300

export type Nonces = ReturnType<typeof createNonces>

export function createNonces(store: EphemeralStore) {
  const boundKey = (nonce: string, address: string) => `nonce:${nonce}:${address}`
  const unboundKey = (nonce: string) => `nonce:${nonce}`

  return {
    /** `origin`: of the page that asked for it, if a browser sent one. */
    async create(address?: string, origin = ''): Promise<string> {
      const nonce = randomBytes(16).toString('hex')
      const key = address === undefined ? unboundKey(nonce) : boundKey(nonce, address)
      await store.set(key, origin, NONCE_TTL_SECONDS)
      return nonce
    },

    /** Returns the nonce once, with the origin of the page that got it. A nonce bound to another address is not consumed. */
    async consume(nonce: string, address: string): Promise<{ origin: string } | undefined> {
      const origin =
        (await store.getAndDelete(boundKey(nonce, address))) ?? (await store.getAndDelete(unboundKey(nonce)))
      return origin === undefined ? undefined : { origin }
    },
  }
}
