import { type EphemeralStore } from '@tollgate/service'
import { randomBytes } from 'node:crypto'

export const NONCE_TTL_SECONDS = 300

export type Nonces = ReturnType<typeof createNonces>

export function createNonces(store: EphemeralStore) {
  const boundKey = (nonce: string, boundTo: string) => `nonce:${nonce}:${boundTo}`
  const unboundKey = (nonce: string) => `nonce:${nonce}`

  /** Returns a nonce that was created for `boundTo` once, with the origin of the page that got it. */
  async function consumeBound(nonce: string, boundTo: string): Promise<{ origin: string } | undefined> {
    const origin = await store.getAndDelete(boundKey(nonce, boundTo))
    return origin === undefined ? undefined : { origin }
  }

  return {
    /** `boundTo`: an address, or another use than a login. `origin`: of the page that asked for it, if a browser sent one. */
    async create(boundTo?: string, origin = ''): Promise<string> {
      const nonce = randomBytes(16).toString('hex')
      const key = boundTo === undefined ? unboundKey(nonce) : boundKey(nonce, boundTo)
      await store.set(key, origin, NONCE_TTL_SECONDS)
      return nonce
    },

    consumeBound,

    /** Whether `consume`, or with `onlyBound` `consumeBound`, would find the nonce now. */
    async isLive(nonce: string, boundTo: string, { onlyBound = false } = {}): Promise<boolean> {
      if ((await store.get(boundKey(nonce, boundTo))) !== undefined) return true
      return !onlyBound && (await store.get(unboundKey(nonce))) !== undefined
    },

    /** The same for a login, which may also use a nonce without an address. */
    async consume(nonce: string, address: string): Promise<{ origin: string } | undefined> {
      const bound = await consumeBound(nonce, address)
      if (bound) return bound
      const origin = await store.getAndDelete(unboundKey(nonce))
      return origin === undefined ? undefined : { origin }
    },
  }
}
