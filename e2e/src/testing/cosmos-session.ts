import { type SessionTokens } from '@tollgate/protocol'
import { type CosmosWallet } from './cosmos-wallet'
import { type Entrance } from './world'

export async function openCosmosSession(
  { gateway, serviceName, plan }: Entrance,
  { address, publicKey, signArbitrary }: Pick<CosmosWallet, 'address' | 'publicKey' | 'signArbitrary'>,
): Promise<SessionTokens> {
  const asked = await fetch(`${gateway.url}/auth/nonce?address=${address}`)
  const { nonce } = (await asked.json()) as { nonce: string }
  const message = `${serviceName} wants you to sign in.\n\nAddress: ${address}\nNonce: ${nonce}\nIssued At: ${new Date().toISOString()}`
  const answer = await fetch(`${gateway.url}/auth/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      message,
      auth_method: 'siwc',
      signature: await signArbitrary(message),
      pubkey: publicKey,
      address,
      x402_chain_id: plan.chain_id,
      x402_ecosystem: plan.ecosystem,
      pricing_plan_id: plan.id,
    }),
  })
  if (answer.status !== 200)
    throw new Error(`The login was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as SessionTokens
}
