import { fundWallet, USDC_ADDRESS } from '@tollgate/devnet'
import { createTollgate, memoryStorage, type Tollgate } from '@tollgate/wallet'
import { Wallet } from 'ethers'
import { BUDGET } from './observed-world'
import { type World } from './world'

export type RecordingTollgate = Tollgate & {
  /** The JSON-RPC bodies that were sent, in their order. */
  sent: unknown[]
}

/** A `Tollgate` of a new wallet, which buys what its calls need. */
export async function openRecordingTollgate({
  gateway,
  infrastructure,
  plan,
}: World): Promise<RecordingTollgate> {
  const wallet = Wallet.createRandom()
  await fundWallet(infrastructure.rpcUrl, wallet.address, { usdc: BUDGET })
  const limit = { network: `eip155:${plan.chain_id}`, asset: USDC_ADDRESS, perPayment: plan.amount }
  const limits = { assets: [limit] }
  const tollgate = createTollgate({ url: gateway.url, wallet, limits, storage: memoryStorage() })
  const sent: unknown[] = []
  return {
    ...tollgate,
    sent,
    send(chain, body, options) {
      sent.push(body)
      return tollgate.send(chain, body, options)
    },
  }
}
