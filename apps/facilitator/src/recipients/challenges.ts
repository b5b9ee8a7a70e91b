import { randomBytes } from 'node:crypto'
import { caip2 } from '@tollgate/protocol'
import { type EphemeralStore } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type User } from '../users/store'

const TTL_SECONDS = 300

/** What an address signs to be reserved for an account. `address` is in canonical spelling. */
export type Challenge = { network: string; address: string; message: string; expiresAt: string }

export type Challenges = ReturnType<typeof createChallenges>

/** Each is of one user, and valid once, for 5 minutes, on every replica. */
export function createChallenges({
  store,
  publicUrl,
  now,
}: {
  store: EphemeralStore
  publicUrl: string
  now: () => Date
}) {
  return {
    async create(user: User, network: Network, address: string) {
      const issuedAt = now()
      const expiresAt = new Date(issuedAt.getTime() + TTL_SECONDS * 1000)
      const nonce = randomBytes(32).toString('base64url')
      const message = messageOf({ publicUrl, user, network, address, nonce, issuedAt, expiresAt })
      const challenge: Challenge = {
        network: network.name,
        address,
        message,
        expiresAt: expiresAt.toISOString(),
      }
      await store.set(keyOf(user, nonce), JSON.stringify(challenge), TTL_SECONDS)
      return { nonce, message, expiresAt }
    },

    /** Of any number of concurrent callers, one gets it. Undefined if the user has none of this nonce, or it has expired. */
    async take(user: User, nonce: string): Promise<Challenge | undefined> {
      const stored = await store.getAndDelete(keyOf(user, nonce))
      if (stored === undefined) return undefined
      const challenge = JSON.parse(stored) as Challenge
      return now() < new Date(challenge.expiresAt) ? challenge : undefined
    },
  }
}

const keyOf = ({ id }: User, nonce: string) => `recipient ${id} ${nonce}`

/** Unlike a sign-in (EIP-4361), which no signature of this text can be taken for. */
const messageOf = ({
  publicUrl,
  user,
  network,
  address,
  nonce,
  issuedAt,
  expiresAt,
}: {
  publicUrl: string
  user: User
  network: Network
  address: string
  nonce: string
  issuedAt: Date
  expiresAt: Date
}) => `${publicUrl} asks you to reserve your address for one account.

From then on it settles payments to this address only for that account. Sign this only if the account is yours.

Account: ${user.id} (${user.email})
Address: ${address}
Network: ${network.name} (${caip2(network)})
Nonce: ${nonce}
Issued At: ${issuedAt.toISOString()}
Expiration Time: ${expiresAt.toISOString()}`
