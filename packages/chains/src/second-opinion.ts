import { TransactionRejected } from './family'

/**
 * Asks the nodes of a network, and where the answer is a refusal that a later state might not give, once more the node that is
 * furthest: a node that is a few blocks behind knows nothing of a payer that was funded since. Where no node is further than
 * the first one its answer stands.
 */
export function createSecondOpinion<N extends { rpc: object }>(
  network: N,
  { furthest }: { furthest(): Promise<N['rpc'] | undefined> },
) {
  return async <T>(ask: (on: N) => Promise<T>, mayBeOutdated: (answer: T) => boolean): Promise<T> => {
    const again = async () => {
      const rpc = await furthest()
      return rpc && { ...network, rpc }
    }
    let answer: T
    try {
      answer = await ask(network)
    } catch (error) {
      const further = error instanceof TransactionRejected ? await again() : undefined
      if (further === undefined) throw error
      return ask(further)
    }
    const further = mayBeOutdated(answer) ? await again() : undefined
    return further === undefined ? answer : ask(further)
  }
}
