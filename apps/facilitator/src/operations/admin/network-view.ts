import { type NodeReport, type NodesCheck } from '@tollgate/chains'
import { type OperatorNetwork, type OperatorNode } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type Networks } from '../../networks/networks'
import { createCachedPart } from './cached-part'

const TTL_MS = 5_000
/** Nodes report within a second, and their features are known after another. */
const TIMEOUT_MS = 3_000
/** Nodes behind one URL differ by fewer blocks. */
const MAX_LAG = 20n
const NO_HEIGHT = 'gave no height within a second'

export type NetworkView = ReturnType<typeof createNetworkView>

/** The nodes of each network as this replica sees them. A network whose nodes cannot be read has an `error`. */
export function createNetworkView(parts: {
  networks: Pick<Networks, 'all' | 'checkNodes'>
  logger: Logger
  now: () => Date
}) {
  const { networks, logger, now } = parts
  const views = networks.all.map((network) => ({
    network,
    read: createCachedPart({
      name: `nodes of ${network.name}`,
      read: () => readNodes(network),
      ttlMs: TTL_MS,
      timeoutMs: TIMEOUT_MS,
      logger,
    }),
  }))

  async function readNodes(network: Network) {
    const [reports, check] = await Promise.all([network.chain.node.inspect(), networks.checkNodes(network)])
    return { nodes: nodesOf(reports, now()), ...stateOf(reports, check) }
  }

  return (): Promise<OperatorNetwork[]> =>
    Promise.all(
      views.map(async ({ network: { name, ecosystem, chainId }, read }) => {
        const { value, error } = await read()
        return {
          network: name,
          ecosystem,
          chainId,
          status: null,
          block: null,
          problem: null,
          nodes: [],
          ...value,
          error,
        }
      }),
    )
}

function stateOf(
  reports: readonly NodeReport[],
  check: NodesCheck | undefined,
): Pick<OperatorNetwork, 'status' | 'block' | 'problem'> {
  const highest = highestOf(reports)
  const { problems = [], isUsable = true } = check ?? {}
  return {
    status: highest === undefined ? 'unreachable' : isUsable ? 'active' : 'unusable',
    block: highest === undefined ? null : Number(highest),
    problem: problems.length === 0 ? null : problems.join('; '),
  }
}

export function nodesOf(reports: readonly NodeReport[], at: Date): OperatorNode[] {
  const highest = highestOf(reports)
  const ago = (ms: number) => new Date(at.getTime() - ms).toISOString()
  return reports.map(({ name, height, lastFailure, failingForMs }, index) => {
    const lag = height === undefined || highest === undefined ? undefined : highest - height
    return {
      position: index + 1,
      name,
      state: lag === undefined ? 'failing' : lag > MAX_LAG ? 'behind' : 'ok',
      height: height === undefined ? null : Number(height),
      lag: lag === undefined ? null : Number(lag),
      lastError: lastFailure?.message ?? (lag === undefined ? NO_HEIGHT : null),
      lastErrorAt: lastFailure ? ago(lastFailure.agoMs) : null,
      since: failingForMs === undefined ? null : ago(failingForMs),
    }
  })
}

const highestOf = (reports: readonly NodeReport[]): bigint | undefined =>
  reports.reduce<bigint | undefined>(
    (highest, { height }) =>
      height !== undefined && (highest === undefined || height > highest) ? height : highest,
    undefined,
  )
