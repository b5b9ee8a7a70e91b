import { ChainUnavailable, type TokenProblem } from '@tollgate/chains'
import { type Asset } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { spelled, type Network } from './network'
import { type NetworkConfiguration } from './settings'
import { type AssetStore } from './store'

const RETRY_MS = 3_000

/** Why an asset is refused, and what becomes of its earlier registration: there was none, it stays, or it is taken out of use. */
export type Refused = Pick<TokenProblem, 'problem'> & { registration: 'none' | 'kept' | 'retired' }

type Described = Pick<Asset, 'asset' | 'symbol' | 'decimals'> & { minAmount?: bigint | undefined }

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
  const waiting = new Map(configured.map(({ name, assets }) => [name, new Set(assets)]))
  let isStopped = false
  let retry: NodeJS.Timeout | undefined

  /**
   * Registers the asset or brings it up to date, or says why not. One that is registered is taken out of use without asking
   * its chain: it may be away, and the token broken. So is one whose token proves unfit now, and only then.
   *
   * @throws ChainUnavailable where the chain gives no answer
   */
  async function register(
    network: Network,
    { symbol, decimals, minAmount, ...described }: Described,
    active?: boolean,
  ): Promise<Asset | Refused> {
    const asset = spelled(network, described.asset)
    const retired = active === false && (await store.retire(network.name, asset))
    if (retired) return retired
    const vetted = await network.chain.validateToken({ asset, decimals })
    if (!('problem' in vetted))
      return store.register(network.name, { ...vetted, symbol }, { active, minAmount })
    return { problem: vetted.problem, registration: await drop(network.name, asset, vetted) }
  }

  /** Takes a registered asset out of use where its own token is at fault; settlements that have begun go on. */
  async function drop(network: string, asset: string, unfit: TokenProblem): Promise<Refused['registration']> {
    const registered = await store.find(network, asset)
    if (!registered) return 'none'
    const { problem, isTokensFault, decimals = registered.token.decimals } = unfit
    const isProven = isTokensFault || decimals !== registered.token.decimals
    if (!isProven || !registered.active) return 'kept'
    await store.retire(network, asset)
    logger.error('a registered asset has become unfit for payments and is taken out of use', {
      network,
      asset,
      problem,
    })
    return 'retired'
  }

  /** Until its chain gives no answer. What has to wait goes to the end, so that it cannot hold up the others for good. */
  async function registerAssets(name: string, assets: Set<Described>) {
    const network = find(name)
    if (!network) return
    for (const asset of [...assets]) {
      const facts = { network: name, asset: asset.asset }
      try {
        const registered = await register(network, asset)
        if ('problem' in registered) tell(registered, facts)
        assets.delete(asset)
      } catch (error) {
        logger.warn('a configured asset could not be registered; trying again', { ...facts, error })
        assets.delete(asset)
        assets.add(asset)
        if (error instanceof ChainUnavailable) return
      }
    }
  }

  function tell({ problem, registration }: Refused, facts: object) {
    if (registration === 'none')
      logger.error('a configured asset is not fit for payments and is not registered', { ...facts, problem })
    if (registration === 'kept')
      logger.error('a configured asset was refused; it is registered already, and stays as it is', {
        ...facts,
        problem,
      })
  }

  async function registerWaiting() {
    await Promise.all([...waiting].map(([name, assets]) => registerAssets(name, assets)))
    const isWaiting = [...waiting.values()].some((assets) => assets.size > 0)
    if (isWaiting && !isStopped) retry = setTimeout(() => void registerWaiting(), RETRY_MS)
  }

  return {
    register,
    /** Registers the configured assets; those that cannot be are tried again, in the background, until they can. */
    begin: registerWaiting,
    isWaiting: (network: string, asset: string) =>
      [...(waiting.get(network) ?? [])].some((entry) => entry.asset.toLowerCase() === asset.toLowerCase()),
    stop() {
      isStopped = true
      clearTimeout(retry)
    },
  }
}
