import { createTollgate, type Limits } from '@tollgate/wallet'
import { parseUnits, Wallet } from 'ethers'
import { networkOf } from '../amounts'
import { type McpOptions, type Opened } from '../run'

/** A client of `TOLLGATE_URL` with the wallet `PRIVATE_KEY`, limits in the asset of the first EVM plan, and its storage in memory. */
export async function openTestClient({ maxPayment = '0', maxDay = '0' }: McpOptions): Promise<Opened> {
  const url = process.env['TOLLGATE_URL'] ?? ''
  const wallet = new Wallet(process.env['PRIVATE_KEY'] ?? '')
  const plans = await createTollgate({ url, wallet }).plans()
  const plan = plans.find(({ ecosystem }) => ecosystem === 'evm')
  if (!plan) throw new Error('There is no EVM plan')
  const units = (amount: string) => parseUnits(amount, plan.decimals)
  const limits: Limits = {
    assets: [
      {
        network: networkOf(plan),
        asset: plan.asset_address,
        perPayment: units(maxPayment),
        perDay: units(maxDay),
      },
    ],
  }
  const serviceName = process.env['TOLLGATE_SERVICE_NAME']
  const options = {
    url,
    wallet,
    limits,
    plan: plan.id,
    ...(serviceName === undefined ? {} : { serviceName }),
  }
  return { tollgate: createTollgate(options), limits }
}
