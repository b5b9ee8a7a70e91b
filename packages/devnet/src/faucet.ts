import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { isAddress } from 'ethers'
import { fundWallet } from './evm/deploy'

/** What the faucet reads of `devnet.json`. */
export type FaucetNetwork = {
  ecosystem: string
  network: string
  rpcUrl: string
  asset: string
  decimals: number
  symbol: string
  prefix?: string
}

/**
 * Creates one unit of the asset that the plans of `npm start` are paid in, for an address of one of its chains. Only its chains have
 * the methods that create money.
 *
 * @throws Error
 */
export async function fundFromFaucet(address: string, networks: readonly FaucetNetwork[]): Promise<string> {
  const network = networks.find(({ prefix }) =>
    prefix === undefined ? isAddress(address) : address.startsWith(`${prefix}1`),
  )
  if (!network) throw new Error(`${address} is no address of a chain of npm start: 0x… or cosmos1…`)
  const { ecosystem, rpcUrl, asset, decimals, symbol } = network
  const amount = 10n ** BigInt(decimals)
  const funded =
    ecosystem === 'evm'
      ? fundWallet(rpcUrl, address, { usdc: amount })
      : fundCosmosWallet(rpcUrl, address, `${amount}${asset}`)
  await funded.catch((cause: unknown) => {
    throw new Error(`${rpcUrl} sent no money (${(cause as Error).message}): is npm start running?`, { cause })
  })
  return `1 ${symbol} on ${network.network}`
}
