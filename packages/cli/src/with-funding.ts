import { isTollgateError, type Plan } from '@tollgate/wallet'
import { networkOf } from './amounts'
import { CommandError, EXIT } from './exit-codes'

type Client = { wallet: { address: string }; plan(): Promise<Plan | undefined> }

/** A refused payment with the address to fund; other errors as they are. */
export async function withFunding(error: unknown, [client]: readonly Client[]): Promise<unknown> {
  if (!client || !isTollgateError(error) || error.code !== 'PAYMENT_REFUSED') return error
  const { message, details } = error
  const plan = await client.plan().catch(() => undefined)
  const ofPlan = plan && { network: networkOf(plan), asset: plan.asset_address }
  const { network, asset } = { ...ofPlan, ...(details as { network?: string; asset?: string }) }
  const money =
    network === undefined || asset === undefined ? 'the asset of the plan' : `${asset} on ${network}`
  return new CommandError(
    'PAYMENT_REFUSED',
    message,
    `The gateway charged nothing. If the balance is too small, send some of ${money} to ${client.wallet.address}; else remove the cause that the message names. Then run the command again.`,
    EXIT.FAILED,
  )
}
