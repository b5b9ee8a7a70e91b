import { ChainUnavailable } from '@tollgate/chains'
import { findNetwork, type NetworkKind } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { connect, spelled, type Families, type Network } from './network'
import { createNodesWatch } from './nodes-watch'
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
  const watches = new Map(all.map((network) => [network.name, createNodesWatch(network, logger)]))
  const registration = createRegistration({ configured, find, store, logger })

  function find(text: string): Network | undefined {
    return findNetwork(all, text)
  }

  /**
   * A network as it is now: `unreachable`, with the last block that was seen, where it gives no answer, and `unusable` where no
   * node of it can judge a payment.
   */
  async function stateOf(network: Network): Promise<{ kind: NetworkKind; problem: { problem?: string } }> {
    const [head, nodes] = await Promise.all([heads.get(network.name)?.(), watches.get(network.name)?.check()])
    const { isThere = false, block = 0n } = head ?? {}
    const { problems = [], isUsable = true } = nodes ?? {}
    const { feePayer = '' } = network.chain
    const kind = {
      x402Version: 1,
      scheme: 'exact',
      network: network.name,
      status: !isThere ? 'unreachable' : isUsable ? 'active' : 'unusable',
      block: Number(block),
      feePayer,
    }
    // What nodes lack is for operators.
    return { kind, problem: problems.length === 0 ? {} : { problem: problems.join('; ') } }
  }
  const states = () => Promise.all(all.map(stateOf))

  return {
    all: all as readonly Network[],
    /** The network that a name, a chain id or a CAIP-2 text means. */
    find,
    /** What is served now: a network that gives no answer is left out. */
    kinds: async (): Promise<NetworkKind[]> => (await states()).map(({ kind }) => kind).filter(isActive),
    /** One network as it is now; undefined where it gives no answer. */
    async kindOf(network: Network): Promise<NetworkKind | undefined> {
      const { kind } = await stateOf(network)
      return isActive(kind) ? kind : undefined
    },
    /** All networks, also those that give no answer, with what their nodes lack. */
    states: async (): Promise<NetworkKind[]> =>
      (await states()).map(({ kind, problem }) => ({ ...kind, ...problem })),
    /** The assets that payments may be made in: none of a network that is not configured any more. */
    assets: () => store.active(all.map(({ name }) => name)),
    registerConfigured: () => registration.begin(),
    /** From now on each node that lacks what payments need is named in the log, once, also those that come to lack it. */
    watchNodes() {
      for (const watch of watches.values()) watch.begin()
    },
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
      for (const watch of watches.values()) watch.close()
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
