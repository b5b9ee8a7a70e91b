import { TransactionRejected } from './errors'

/**
 * Runs an operation, and repeats it once on the node with the highest block if the result may be outdated: a node that is
 * a few blocks behind does not see a payer's latest deposit. If no node is ahead of the first one, its result stands.
 */
export function createFurthestNodeRetry<N extends { rpc: object }>(
  network: N,
  { furthest }: { furthest(): Promise<N['rpc'] | undefined> },
) {
  return async <T>(
    operation: (network: N) => Promise<T>,
    mayBeOutdated: (result: T) => boolean,
  ): Promise<T> => {
    const findFurthest = async () => {
      const rpc = await furthest()
      return rpc && { ...network, rpc }
    }
    let result: T
    try {
      result = await operation(network)
    } catch (error) {
      const further = error instanceof TransactionRejected ? await findFurthest() : undefined
      if (further === undefined) throw error
      return operation(further)
    }
    const further = mayBeOutdated(result) ? await findFurthest() : undefined
    return further === undefined ? result : operation(further)
  }
}
