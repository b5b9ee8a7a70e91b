import { type Token } from '@tollgate/chains'
import { type Asset } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { spelled, type Network } from './network'
import { type NetworkConfiguration } from './settings'
import { type AssetStore } from './store'

const RETRY_MS = 3_000

type Described = Pick<Asset, 'asset' | 'symbol' | 'decimals'>

/**
 * How assets come to be registered. Each is asked of its chain first, because what a payer signs names the token as the
 * token names itself.
 */
export function createRegistration(parts: {
  configured: readonly NetworkConfiguration[]
  find: (network: string) => Network | undefined
  store: AssetStore
  logger: Logger
}) {
  const { configured, find, store, logger } = parts
  const waiting = new Map(
    configured.flatMap(({ name, assets }) =>
      assets.map((asset) => [keyOf(name, asset.asset), { name, asset }]),
    ),
  )
  let retry: NodeJS.Timeout | undefined

  async function register(
    network: Network,
    described: Described,
    active?: boolean,
  ): Promise<Asset | undefined> {
    const { symbol, decimals } = described
    const token: Token | undefined = await network.chain.describeToken(spelled(network, described.asset))
    if (!token) return undefined
    if (token.decimals !== decimals)
      logger.warn('an asset is registered with other decimals than its contract has', {
        network: network.name,
        asset: token.asset,
        registered: decimals,
        onChain: token.decimals,
      })
    return store.register(network.name, { ...token, symbol, decimals }, active)
  }

  async function registerWaiting() {
    for (const [key, { name, asset }] of waiting) {
      try {
        const network = find(name)
        if (!network || !(await register(network, asset)))
          logger.error('a configured asset does not exist on its network', {
            network: name,
            asset: asset.asset,
          })
        waiting.delete(key)
      } catch (error) {
        logger.warn('a configured asset could not be registered; trying again', {
          network: name,
          asset: asset.asset,
          error,
        })
      }
    }
    if (waiting.size > 0) retry = setTimeout(() => void registerWaiting(), RETRY_MS)
  }

  return {
    register,
    /** Registers the configured assets; those that cannot be are tried again, in the background, until they can. */
    begin: registerWaiting,
    isWaiting: (network: string, asset: string) => waiting.has(keyOf(network, asset)),
    stop: () => clearTimeout(retry),
  }
}

const keyOf = (network: string, asset: string) => `${network}/${asset.toLowerCase()}`
