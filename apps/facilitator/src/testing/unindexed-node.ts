import { setTimeout as delay } from 'node:timers/promises'
import { startOddNode } from './failing-node'
import { hashOf } from './forged-cosmos'

type Params = Record<string, string>

/** What the node of a Cosmos chain answers to one that offers it a transaction and is refused. */
export const refusalOf = ({ tx = '' }: Params, code: number, log: string) => ({
  result: {
    code,
    codespace: 'sdk',
    data: '',
    log,
    hash: hashOf(Buffer.from(tx, 'base64')),
  },
})

const hexOf = (base64 = '') => Buffer.from(base64, 'base64').toString('hex').toUpperCase()

/**
 * The node at `url`, which from `forget` to `recall` finds no transaction by the methods `lacking`, and refuses what it has
 * had for its sequence, as one does that has begun anew.
 */
export async function startUnindexedNode(url: string, lacking: readonly ('tx' | 'tx_search')[]) {
  let isForgetful = false
  let [searches, refusals] = [0, 0]
  const forgets = (method: 'tx' | 'tx_search') => isForgetful && lacking.includes(method)
  return {
    url: await startOddNode(url, {
      async tx({ hash }, told) {
        if (!forgets('tx')) return told()
        searches++
        const error = { code: -32603, message: 'Internal error', data: `tx (${hexOf(hash)}) not found` }
        return { error }
      },
      tx_search: async (_, told) =>
        forgets('tx_search') ? { result: { txs: [], total_count: '0' } } : told(),
      async broadcast_tx_sync(params, told) {
        const reply = await told()
        if (!isForgetful || reply.error === undefined) return reply
        refusals++
        return refusalOf(params, 32, 'account sequence mismatch, expected 1, got 0')
      },
    }),
    forget: () => (isForgetful = true),
    recall: () => (isForgetful = false),
    /** Resolves once it did not find so many times more what it was asked for. */
    untilAsked: (times: number) => untilMore(() => searches, times),
    /** Resolves once it refused so many times more what it has had. */
    untilRefused: (times: number) => untilMore(() => refusals, times),
  }
}

/** The node at `url`, which takes no transaction while it `refuses`: one that asks for higher fees. */
export async function startRefusingNode(url: string, refuses: () => boolean = () => true) {
  let refusals = 0
  return {
    url: await startOddNode(url, {
      broadcast_tx_sync(params, told) {
        if (!refuses()) return told()
        refusals++
        return Promise.resolve(refusalOf(params, 13, 'insufficient fees; got: 5000uatom required: 9000uatom'))
      },
    }),
    /** Resolves once it refused so many times more what it was sent. */
    untilRefused: (times: number) => untilMore(() => refusals, times),
  }
}

async function untilMore(count: () => number, times: number): Promise<void> {
  const [from, deadline] = [count(), performance.now() + 40_000]
  while (count() < from + times) {
    if (performance.now() > deadline) throw new Error(`that was ${count() - from} times, and not ${times}`)
    await delay(20)
  }
}
