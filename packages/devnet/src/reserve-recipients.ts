import { fetchJson } from './fetch-json'
import { type Secrets } from './state'

type Recipient = { chain_id: string; pay_to: string }

/**
 * Reserves the recipients of the plans for the gateway's account: a stolen payment to them cannot be settled with another account's
 * client key. Idempotent.
 */
export async function reserveRecipients(
  apiUrl: string,
  { adminToken, operator }: Secrets,
  plans: readonly Recipient[],
): Promise<void> {
  for (const { chain_id: network, pay_to: address } of plans) {
    const { url, status } = await fetchJson(`${apiUrl}/admin/recipients`, {
      headers: { authorization: `Bearer ${adminToken}` },
      body: { email: operator.email, network, address },
    })
    if (status !== 200) throw new Error(`${url} returned ${status}`)
  }
}
