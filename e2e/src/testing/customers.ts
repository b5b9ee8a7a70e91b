import { developmentCosmosSigner, fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { fundWallet } from '@tollgate/devnet'
import { encodeJson, type PaymentRequired, type SessionTokens } from '@tollgate/protocol'
import { StargateClient } from '@cosmjs/stargate'
import { Wallet, type HDNodeWallet } from 'ethers'
import { type Plan } from './catalog'
import { openCosmosSession } from './cosmos-session'
import { COSMOS_FEE, newCosmosWallet, type CosmosPaymentOptions } from './cosmos-wallet'
import { sign } from './paying'
import { openSession, type Entrance, type World } from './world'

export type Customer = {
  address: string
  session: SessionTokens
  /** Signs the payment of a 402 and returns the `X-PAYMENT` header. */
  pay: (asked: unknown) => Promise<string>
}

export type EvmCustomer = Customer & { wallet: HDNodeWallet; entrance: Entrance }

export async function newCustomer(world: World, plan: Plan, usdc = 1_000_000n): Promise<EvmCustomer> {
  const wallet = Wallet.createRandom()
  await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc })
  const entrance = entranceOf(world, plan)
  const session = await openSession(entrance, wallet)
  return { wallet, address: wallet.address, entrance, session, pay: (asked) => sign(wallet, asked) }
}

/** A customer with a new Cosmos wallet that holds `uatom`; the facilitator pays the fee if `isSponsored`. */
export async function newCosmosCustomer(
  world: World,
  plan: Plan,
  {
    uatom,
    isSponsored,
    mode = 'direct',
  }: { uatom: bigint; isSponsored: boolean } & Pick<CosmosPaymentOptions, 'mode'>,
): Promise<Customer> {
  const wallet = await newCosmosWallet()
  const { address } = wallet
  const { rpcUrl } = world.infrastructure.cosmos
  await fundCosmosWallet(rpcUrl, address, `${uatom + (isSponsored ? 0n : COSMOS_FEE)}uatom`)
  const session = await openCosmosSession(entranceOf(world, plan), wallet)
  const client = await StargateClient.connect(rpcUrl)
  const granter = isSponsored ? developmentCosmosSigner.address : undefined
  return {
    address,
    session,
    async pay(asked) {
      const { paymentRequirements: requirements } = asked as PaymentRequired
      const { network, asset: denom, payTo, maxAmountRequired } = requirements
      const terms = { payTo, denom, amount: BigInt(maxAmountRequired) }
      const { payload } = await wallet.pay(client, terms, { granter, mode })
      const paymentPayload = { x402Version: 1, scheme: 'exact', network, payload }
      return encodeJson({ paymentPayload, paymentRequirements: requirements })
    },
  }
}

const entranceOf = ({ gateway, serviceName }: World, plan: Plan): Entrance => ({ gateway, serviceName, plan })
