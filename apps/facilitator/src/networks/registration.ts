import { ChainUnavailable, type TokenProblem } from '@tollgate/chains'
import { type Asset } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { spelled, type Network } from './network'
import { type NetworkConfiguration } from './settings'
import { type AssetStore } from './store'

const RETRY_MS = 3_000

/**
 * Why an asset was refused, and the state of its earlier registration: there was none, it was kept, or it was
 * retired.
 */
export type Refused = Pick<TokenProblem, 'problem'> & { registration: 'none' | 'kept' | 'retired' }

type Described = Pick<Asset, 'asset' | 'symbol' | 'decimals'> & { minAmount?: bigint | undefined }

/**
 * Validates assets on their chain before it registers them: the name and decimals must be the token's own,
 * and a transfer must move exactly the signed amount, once.
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
   * Registers or updates an asset, or returns the reason for a refusal. `active: false` retires a registered
   * asset without a chain request, because its chain may be unavailable or its token broken.
   *
   * @throws ChainUnavailable if the chain does not respond
   */
  async function register(
    network: Network,
    { symbol, decimals, minAmount, ...described }: Described,
    active?: boolean,
  ): Promise<Asset | Refused> {
    const asset = spelled(network, described.asset)
    const retired = active === false && (await store.retire(network.name, asset))
    if (retired) return retired
    const validated = await network.chain.tokens.validate({ asset, decimals })
    if (!('problem' in validated))
      return store.register(network.name, { ...validated, symbol }, { active, minAmount })
    return { problem: validated.problem, registration: await drop(network.name, asset, validated) }
  }

  /** Retires a registered asset if its token is at fault. Settlements in progress continue. */
  async function drop(
    network: string,
    asset: string,
    invalid: TokenProblem,
  ): Promise<Refused['registration']> {
    const registered = await store.find(network, asset)
    if (!registered) return 'none'
    const { problem, isTokensFault, decimals = registered.token.decimals } = invalid
    const isProven = isTokensFault || decimals !== registered.token.decimals
    if (!isProven || !registered.active) return 'kept'
    await store.retire(network, asset)
    logger.error('registered asset failed validation, retired', {
      network,
      asset,
      problem,
    })
    return 'retired'
  }

  /**
   * Stops when the chain does not respond. Failed assets move to the end, so that they do not block the
   * others.
   */
  async function registerAssets(name: string, assets: Set<Described>) {
    const network = find(name)
    if (!network) return
    for (const asset of [...assets]) {
      const facts = { network: name, asset: asset.asset }
      try {
        const registered = await register(network, asset)
        if ('problem' in registered) logRefusal(registered, facts)
        assets.delete(asset)
      } catch (error) {
        logger.warn('asset registration failed, retrying', { ...facts, error })
        assets.delete(asset)
        assets.add(asset)
        if (error instanceof ChainUnavailable) return
      }
    }
  }

  function logRefusal({ problem, registration }: Refused, facts: object) {
    if (registration === 'none')
      logger.error('configured asset failed validation, not registered', { ...facts, problem })
    if (registration === 'kept')
      logger.error('configured asset refused, registration kept', {
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
    /** Registers the configured assets; retries failed ones in the background until they succeed. */
    begin: registerWaiting,
    isWaiting: (network: string, asset: string) =>
      [...(waiting.get(network) ?? [])].some((entry) => entry.asset.toLowerCase() === asset.toLowerCase()),
    stop() {
      isStopped = true
      clearTimeout(retry)
    },
  }
}
