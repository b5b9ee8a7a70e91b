import { isTollgateError, type Plan } from '@tollgate/wallet'
import { networkOf } from './amounts'
import { findAsset } from './assets/known-assets'
import { STABLECOINS } from './assets/stablecoins'
import { CommandError, EXIT, withCommands } from './exit-codes'
import { isOnThisMachine } from './find-wrong-url'
import { minuteOf } from './output/table'

type Client = {
  tollgate: { url: string }
  wallet: { address: string }
  plan(): Promise<Plan | undefined>
}

/** A refused payment with the address to fund; other errors as they are. */
export async function withFunding(error: unknown, [client]: readonly Client[]): Promise<unknown> {
  if (!client || !isTollgateError(error) || error.code !== 'PAYMENT_REFUSED') return error
  const { message, details } = error
  const plan = await client.plan().catch(() => undefined)
  const ofPlan = plan && { network: networkOf(plan), asset: plan.asset_address }
  const { network, asset } = { ...ofPlan, ...(details as { network?: string; asset?: string }) }
  const valid = adviceForSigned(details)
  const money =
    network === undefined || asset === undefined ? 'the asset of the plan' : nameOf({ network, asset })
  const { address } = client.wallet
  return new CommandError(
    'PAYMENT_REFUSED',
    withCommands(message),
    `The gateway charged nothing. If the balance is too small, send some of ${money} to ${address}${faucetOf(client.tollgate.url, address)}; else remove the cause that the message names. Then run the command again.${valid}`,
    EXIT.FAILED,
  )
}

/** What a refused payment can still do, as a further sentence. */
export const adviceForSigned = ({ openUntil }: Record<string, unknown>, next = 'command'): string =>
  typeof openUntil === 'number'
    ? ` The signed payment stays valid until ${minuteOf(openUntil)} UTC: the next ${next} within its limits sends it.`
    : ''

function nameOf(asset: { network: string; asset: string }): string {
  const symbol = findAsset(STABLECOINS, asset)?.symbol
  const address = `${asset.asset} on ${asset.network}`
  return symbol === undefined ? address : `${symbol}, ${address},`
}

/** A gateway on this machine is most likely one of `npm start`, whose money is for tests. */
export const faucetOf = (url: string, address: string): string =>
  isOnThisMachine(url)
    ? ` (for the gateway of \`npm start\`: \`npm run faucet -- ${address}\` in its checkout)`
    : ''
