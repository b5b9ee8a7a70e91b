import { type EphemeralStore } from '@tollgate/service'
import { randomBytes } from 'node:crypto'

export const NONCE_TTL_SECONDS = 300

export type Nonces = ReturnType<typeof createNonces>

export function createNonces(store: EphemeralStore) {
  const boundKey = (nonce: string, address: string) => `nonce:${nonce}:${address}`
  const unboundKey = (nonce: string) => `nonce:${nonce}`

  return {
    async create(address?: string): Promise<string> {
      const nonce = randomBytes(16).toString('hex')
      const key = address === undefined ? unboundKey(nonce) : boundKey(nonce, address)
      await store.set(key, '1', NONCE_TTL_SECONDS)
      return nonce
    },

    /** Returns true once. A nonce bound to another address is not consumed. */
    async consume(nonce: string, address: string): Promise<boolean> {
      return (
        (await store.getAndDelete(boundKey(nonce, address))) !== undefined ||
        (await store.getAndDelete(unboundKey(nonce))) !== undefined
      )
    },
  }
}
