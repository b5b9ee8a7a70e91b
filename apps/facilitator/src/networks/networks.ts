import { ChainUnavailable, type Token } from '@tollgate/chains'
import { findNetwork, type NetworkKind } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { createHead } from './head'
import { connect, spelled, type Families, type Network } from './network'
import { createRegistration } from './registration'
import { type NetworkConfiguration } from './settings'
import { type AssetStore } from './store'

export type Networks = ReturnType<typeof createNetworks>

/** The networks of the configuration, connected. Nothing is asked of a chain before somebody asks here. */
export function createNetworks(parts: {
  configured: readonly NetworkConfiguration[]
  families: Families
  store: AssetStore
  logger: Logger
}) {
  const { configured, families, store, logger } = parts
  const all = configured.map((settings) => connect(settings, families))
  const heads = new Map(all.map(({ name, chain }) => [name, createHead(chain)]))
  const registration = createRegistration({ configured, find, store, logger })

  function find(text: string): Network | undefined {
    return findNetwork(all, text)
  }

  async function kindOf(network: Network): Promise<NetworkKind | undefined> {
    const block = await heads.get(network.name)?.()
    if (block === undefined) return undefined
    const [feePayer = ''] = network.chain.signers
    return {
      x402Version: 1,
      scheme: 'exact',
      network: network.name,
      status: 'active',
      block: Number(block),
      feePayer,
    }
  }

  return {
    all: all as readonly Network[],
    /** The network that a name, a chain id or a CAIP-2 text means. */
    find,
    /** What is served now: a network that gives no answer is left out. */
    async kinds(): Promise<NetworkKind[]> {
      return (await Promise.all(all.map(kindOf))).filter((kind) => kind !== undefined)
    },
    /** One network as it is now; undefined where it gives no answer. */
    kindOf,
    assets: () => store.active(),
    registerConfigured: () => registration.begin(),
    /** Asks the chain about an asset and registers it; undefined where the chain has no such token. */
    register: registration.register,

    /**
     * The registered asset that a request means; new payments are taken in it while it is `active`.
     *
     * @throws ChainUnavailable where it is configured, but its chain has not been reached yet
     */
    async token(network: Network, asset: string): Promise<{ token: Token; active: boolean } | undefined> {
      if (!/^[\x21-\x7e]+$/.test(asset)) return undefined
      const found = await store.find(network.name, spelled(network, asset))
      if (found) return found
      if (registration.isWaiting(network.name, asset))
        throw new ChainUnavailable(`${network.name} has not been reached yet to ask about its assets`)
      return undefined
    },

    close() {
      registration.stop()
      for (const { chain } of all) chain.close()
    },
  }
}
