import { ChainUnavailable } from '@tollgate/chains'
import { findNetwork, type NetworkKind } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { connect, spelled, type Families, type Network } from './network'
import { createProbe } from './probe'
import { createRegistration } from './registration'
import { type NetworkConfiguration } from './settings'
import { type AssetStore, type RegisteredToken } from './store'

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
  const heads = new Map(all.map((network) => [network.name, createHead(network)]))
  const registration = createRegistration({ configured, find, store, logger })

  function find(text: string): Network | undefined {
    return findNetwork(all, text)
  }

  /** A network as it is now: `unreachable`, with the last block that was seen, where it gives no answer. */
  async function stateOf(network: Network): Promise<NetworkKind> {
    const { isThere = false, block = 0n } = (await heads.get(network.name)?.()) ?? {}
    const { feePayer = '' } = network.chain
    return {
      x402Version: 1,
      scheme: 'exact',
      network: network.name,
      status: isThere ? 'active' : 'unreachable',
      block: Number(block),
      feePayer,
    }
  }
  const states = () => Promise.all(all.map(stateOf))

  return {
    all: all as readonly Network[],
    /** The network that a name, a chain id or a CAIP-2 text means. */
    find,
    /** What is served now: a network that gives no answer is left out. */
    kinds: async (): Promise<NetworkKind[]> => (await states()).filter(isActive),
    /** One network as it is now; undefined where it gives no answer. */
    async kindOf(network: Network): Promise<NetworkKind | undefined> {
      const state = await stateOf(network)
      return isActive(state) ? state : undefined
    },
    /** All networks, also those that give no answer. */
    states,
    /** The assets that payments may be made in: none of a network that is not configured any more. */
    assets: () => store.active(all.map(({ name }) => name)),
    registerConfigured: () => registration.begin(),
    /** See `createRegistration`. */
    register: registration.register,

    /**
     * The registered asset that a request means; new payments are taken in it while it is `active`.
     *
     * @throws ChainUnavailable where it is configured, but its chain has not been reached yet
     */
    async token(network: Network, asset: string): Promise<RegisteredToken | undefined> {
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

const isActive = ({ status }: NetworkKind) => status === 'active'

/** The newest block of a network, and whether it answers now. */
function createHead({ chain }: Network) {
  let block: bigint | undefined
  const probe = createProbe(async () => (await chain.head()).number)
  return async () => {
    const now = await probe()
    block = now ?? block
    return { isThere: now !== undefined, block }
  }
}
