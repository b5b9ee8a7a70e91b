import { type EphemeralStore } from '@tollgate/service'
import { randomBytes } from 'node:crypto'

export const NONCE_TTL_SECONDS = 300

export type Nonces = ReturnType<typeof createNonces>

/** One-time values for sign-in, each good for 300 seconds and one login. Kept where they may be lost. */
export function createNonces(store: EphemeralStore) {
  const bound = (nonce: string, address: string) => `nonce:${nonce}:${address}`
  const unbound = (nonce: string) => `nonce:${nonce}`

  return {
    /** A new nonce: for `address` alone, or for whoever logs in with it first. */
    async issue(address?: string): Promise<string> {
      const nonce = randomBytes(16).toString('hex')
      const key = address === undefined ? unbound(nonce) : bound(nonce, address)
      await store.set(key, '1', NONCE_TTL_SECONDS)
      return nonce
    },

    /** True for the first caller with a nonce that `address` may use, and for nobody after. Another's nonce stays whole. */
    async consume(nonce: string, address: string): Promise<boolean> {
      return (
        (await store.take(bound(nonce, address))) !== undefined ||
        (await store.take(unbound(nonce))) !== undefined
      )
    },
  }
}
