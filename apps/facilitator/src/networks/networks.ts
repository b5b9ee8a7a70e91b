import { ChainUnavailable, type NodesCheck } from '@tollgate/chains'
import { findNetwork, type NetworkKind } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { connect, spelled, type Families, type Network } from './network'
import { createNodeMonitor } from './node-monitor'
import { createCachedProbe } from './cached-probe'
import { createRegistration } from './registration'
import { type NetworkConfiguration } from './settings'
import { type AssetStore, type RegisteredToken } from './store'

export type Networks = ReturnType<typeof createNetworks>

/** Sends no request to a chain before the first call. */
export function createNetworks(parts: {
  configured: readonly NetworkConfiguration[]
  families: Families
  store: AssetStore
  logger: Logger
}) {
  const { configured, families, store, logger } = parts
  const all = configured.map((settings) => connect(settings, families))
  const heads = new Map(all.map((network) => [network.name, createHead(network)]))
  const nodeMonitors = new Map(all.map((network) => [network.name, createNodeMonitor(network, logger)]))
  const registration = createRegistration({ configured, find, store, logger })

  function find(text: string): Network | undefined {
    return findNetwork(all, text)
  }

  /** `unreachable` (with the last known block) if no node answers; `unusable` if no node can verify a payment. */
  async function stateOf(network: Network): Promise<{ kind: NetworkKind; problem: { problem?: string } }> {
    const [head, nodes] = await Promise.all([
      heads.get(network.name)?.(),
      nodeMonitors.get(network.name)?.check(),
    ])
    const { isReachable = false, block = 0n } = head ?? {}
    const { problems = [], isUsable = true } = nodes ?? {}
    const { feePayer = '', signsForPayers } = network.chain.signer
    const kind = {
      x402Version: 1,
      scheme: 'exact',
      network: network.name,
      status: !isReachable ? 'unreachable' : isUsable ? 'active' : 'unusable',
      block: Number(block),
      feePayer,
      ...(signsForPayers && { feePayerSigns: true }),
    }
    return { kind, problem: problems.length === 0 ? {} : { problem: problems.join('; ') } }
  }
  const states = () => Promise.all(all.map(stateOf))

  return {
    all: all as readonly Network[],
    /** By name, chain id or CAIP-2 id. */
    find,
    kinds: async (): Promise<NetworkKind[]> => (await states()).map(({ kind }) => kind).filter(isActive),
    async kindOf(network: Network): Promise<NetworkKind | undefined> {
      const { kind } = await stateOf(network)
      return isActive(kind) ? kind : undefined
    },
    states: async (): Promise<NetworkKind[]> =>
      (await states()).map(({ kind, problem }) => ({ ...kind, ...problem })),
    /** What the nodes of the network lack, as last checked; undefined before the first check, or if they need nothing. */
    checkNodes: async ({ name }: Network): Promise<NodesCheck | undefined> => nodeMonitors.get(name)?.check(),
    /** At most a second old if its nodes answer; undefined if none has answered yet. */
    newestBlock: async ({ name }: Network): Promise<bigint | undefined> => (await heads.get(name)?.())?.block,
    /** Active assets of configured networks. */
    assets: () => store.active(all.map(({ name }) => name)),
    registerConfigured: () => registration.begin(),
    watchNodes() {
      for (const monitor of nodeMonitors.values()) monitor.begin()
    },
    register: registration.register,

    /** @throws ChainUnavailable if the asset is configured and its chain was not reached yet */
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
      for (const monitor of nodeMonitors.values()) monitor.close()
      for (const { chain } of all) chain.close()
    },
  }
}

const isActive = ({ status }: NetworkKind) => status === 'active'

function createHead({ chain }: Network) {
  let block: bigint | undefined
  const probe = createCachedProbe(async () => (await chain.node.head()).number)
  return async () => {
    const now = await probe()
    block = now ?? block
    return { isReachable: now !== undefined, block }
  }
}
