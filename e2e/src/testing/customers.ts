import { fundWallet } from '@tollgate/devnet'
import { type SessionTokens } from '@tollgate/protocol'
import { Wallet, type HDNodeWallet } from 'ethers'
import { type Plan } from './catalog'
import { openSession, type Entrance, type World } from './world'

/** A wallet with money on the chain and a session on a plan. */
export type Customer = {
  wallet: HDNodeWallet
  address: string
  entrance: Entrance
  session: SessionTokens
}

/** Somebody who was never here before, with `usdc` (smallest units) to spend. */
export async function newCustomer(world: World, plan: Plan, usdc = 1_000_000n): Promise<Customer> {
  const wallet = Wallet.createRandom()
  await fundWallet(world.foundation.rpcUrl, wallet.address, { usdc })
  const entrance = { gateway: world.gateway, serviceName: world.serviceName, plan }
  return { wallet, address: wallet.address, entrance, session: await openSession(entrance, wallet) }
}
