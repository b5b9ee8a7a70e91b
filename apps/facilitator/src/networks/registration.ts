import { type Unfit } from '@tollgate/chains'
import { type Asset } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { spelled, type Network } from './network'
import { type NetworkConfiguration } from './settings'
import { type AssetStore } from './store'

const RETRY_MS = 3_000

type Described = Pick<Asset, 'asset' | 'symbol' | 'decimals'>

/**
 * How assets come to be registered. Each is vetted on its chain first: what a payer signs names the token as the token
 * names itself, and a token that does not move what was signed, once, is never paid in.
 */
export function createRegistration(parts: {
  configured: readonly NetworkConfiguration[]
  find: (network: string) => Network | undefined
  store: AssetStore
  logger: Logger
}) {
  const { configured, find, store, logger } = parts
  const waiting = new Map(configured.map(({ name, assets }) => [name, [...assets]]))
  let isStopped = false
  let retry: NodeJS.Timeout | undefined

  /**
   * Registers the asset or brings it up to date, or says why it is not registered. One that is registered is taken out of
   * use without asking its chain: it may be away, and the token broken.
   *
   * @throws ChainUnavailable where the chain gives no answer
   */
  async function register(
    network: Network,
    { symbol, decimals, ...described }: Described,
    active?: boolean,
  ): Promise<Asset | Unfit> {
    const asset = spelled(network, described.asset)
    const retired = active === false && (await store.retire(network.name, asset))
    if (retired) return retired
    const vetted = await network.chain.vetToken({ asset, decimals })
    return 'problem' in vetted ? vetted : store.register(network.name, { ...vetted, symbol }, active)
  }

  /** Until one has to wait: the others of its network would wait for the same. */
  async function registerAssets(name: string, assets: Described[]) {
    const network = find(name)
    for (let asset = assets[0]; network && asset; asset = assets[0]) {
      const facts = { network: name, asset: asset.asset }
      try {
        const registered = await register(network, asset)
        if ('problem' in registered)
          logger.error('a configured asset is not fit for payments and is not registered', {
            ...facts,
            problem: registered.problem,
          })
        assets.shift()
      } catch (error) {
        logger.warn('a configured asset could not be registered; trying again', { ...facts, error })
        return
      }
    }
  }

  async function registerWaiting() {
    await Promise.all([...waiting].map(([name, assets]) => registerAssets(name, assets)))
    const isWaiting = [...waiting.values()].some((assets) => assets.length > 0)
    if (isWaiting && !isStopped) retry = setTimeout(() => void registerWaiting(), RETRY_MS)
  }

  return {
    register,
    /** Registers the configured assets; those that cannot be are tried again, in the background, until they can. */
    begin: registerWaiting,
    isWaiting: (network: string, asset: string) =>
      waiting.get(network)?.some((entry) => entry.asset.toLowerCase() === asset.toLowerCase()) === true,
    stop() {
      isStopped = true
      clearTimeout(retry)
    },
  }
}
