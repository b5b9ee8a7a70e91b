import { setTimeout as delay } from 'node:timers/promises'
import { startOddNode } from './failing-node'
import { hashOf } from './forged-cosmos'

type Params = Record<string, string>

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
 * A proxy of the node at `url`. From `forget` to `recall` it finds no transaction by the methods `lacking`, and rejects known
 * transactions for their sequence, as a node with an empty index does.
 */
export async function startUnindexedNode(url: string, lacking: readonly ('tx' | 'tx_search')[]) {
  let isForgetful = false
  let [searches, refusals] = [0, 0]
  const forgets = (method: 'tx' | 'tx_search') => isForgetful && lacking.includes(method)
  return {
    url: await startOddNode(url, {
      async tx({ hash }, forward) {
        if (!forgets('tx')) return forward()
        searches++
        const error = { code: -32603, message: 'Internal error', data: `tx (${hexOf(hash)}) not found` }
        return { error }
      },
      tx_search: async (_, forward) =>
        forgets('tx_search') ? { result: { txs: [], total_count: '0' } } : forward(),
      async broadcast_tx_sync(params, forward) {
        const reply = await forward()
        if (!isForgetful || reply.error === undefined) return reply
        refusals++
        return refusalOf(params, 32, 'account sequence mismatch, expected 1, got 0')
      },
    }),
    forget: () => (isForgetful = true),
    recall: () => (isForgetful = false),
    untilAsked: (times: number) => untilMore(() => searches, times),
    untilRefused: (times: number) => untilMore(() => refusals, times),
  }
}

/** A proxy of the node at `url` that demands higher fees while `refuses` returns true. */
export async function startRefusingNode(url: string, refuses: () => boolean = () => true) {
  let refusals = 0
  return {
    url: await startOddNode(url, {
      broadcast_tx_sync(params, forward) {
        if (!refuses()) return forward()
        refusals++
        return Promise.resolve(refusalOf(params, 13, 'insufficient fees; got: 5000uatom required: 9000uatom'))
      },
    }),
    untilRefused: (times: number) => untilMore(() => refusals, times),
  }
}

async function untilMore(count: () => number, times: number): Promise<void> {
  const [from, deadline] = [count(), performance.now() + 40_000]
  while (count() < from + times) {
    if (performance.now() > deadline) throw new Error(`expected ${times} times, got ${count() - from}`)
    await delay(20)
  }
}
