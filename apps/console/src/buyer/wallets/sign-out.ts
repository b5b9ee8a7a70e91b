import { createClient } from './create-client'
import { type ConnectedWallet } from './found-wallets'

/** A tab that asks its user to sign in holds the session. */
const LONGEST_WAIT_MS = 10_000

/** Ends the sessions of the wallet, here and at the gateway. Asks the wallet for nothing. */
export async function signOut(wallet: ConnectedWallet): Promise<void> {
  const client = createClient(wallet, { plans: [], approve: () => false, isSilent: true })
  const timer = setTimeout(() => client.close(), LONGEST_WAIT_MS)
  try {
    await client.signOut()
  } finally {
    clearTimeout(timer)
    client.close()
  }
}
