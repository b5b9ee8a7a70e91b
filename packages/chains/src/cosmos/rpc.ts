import { ChainUnavailable, type Nodes } from '../family'
import {
  type Ask,
  createJsonRpc,
  type Dialect,
  type ErrorAnswer,
  RpcError,
  sharedInTurn,
  Unanswered,
} from '../json-rpc/rpc'
import { type Block, BlockMetas, Broadcast, hashOf, Query, Status, TxResult, TxSearch } from './answers'
import { createQueries, lacksSimulate, type Refused, SIMULATE } from './queries'

/** What CometBFT takes in one HTTP request unless its operator says otherwise (`max_request_batch_size`). */
const MAX_BATCH = 10
const METHOD_NOT_FOUND = -32601

/** Almost all that a CometBFT node says of a problem stands in `data`, as text. */
const wordsOf = ({ message, data }: ErrorAnswer): string =>
  typeof data === 'string' ? `${message}: ${data}` : message

const says = (pattern: RegExp) => (error: ErrorAnswer) => pattern.test(wordsOf(error))

/** How CometBFT nodes talk; one that is on another chain than `chainId`, or has yet to read its blocks, is not used. */
const dialectOf = (chainId: string): Dialect => ({
  identity: {
    question: { method: 'status', params: {} },
    problem(result) {
      const { data } = Status.safeParse(result)
      if (data === undefined) return 'does not tell its chain'
      if (data.chainId !== chainId) return `is on chain ${data.chainId.slice(0, 64)}, not ${chainId}`
      return data.isCatchingUp ? 'has yet to catch up with its chain' : undefined
    },
  },
  height: {
    question: { method: 'status', params: {} },
    read: (result) => Status.safeParse(result).data?.block.number,
  },
  maxBatch: MAX_BATCH,
  lacksMethod: ({ code }) => code === METHOD_NOT_FOUND,
  wordsOf,
})

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** What the error codes of the Cosmos SDK call a transaction that waits already; CometBFT says so in words. */
export const IN_MEMPOOL = { codespace: 'sdk', code: 19 }
const TOO_LARGE = { codespace: 'sdk', code: 21 }
/** What a node says of a transaction that it was offered. */
export type Checked = { code: number; codespace: string; log: string }

/** The fee is below the minimum gas price of this node's operator. */
export const isFeeTooLow = ({ code, codespace }: Checked): boolean => codespace === 'sdk' && code === 13

/**
 * After a restart and until its first block a node takes every account for one of the genesis, of number 0, and finds the
 * signatures of all others wrong.
 */
export const isBeforeFirstBlock = ({ code, codespace, log }: Checked): boolean =>
  codespace === 'sdk' && code === 4 && /account number \(?0\b/i.test(log)

/** The payer's funds, account and sequence, which a node that is behind does not know yet. */
const OF_STATE = [5, 9, 32]

/** Refusals of one node that say nothing of what another one would do. */
const isOfOneNode = (checked: Checked): boolean =>
  isFeeTooLow(checked) ||
  isBeforeFirstBlock(checked) ||
  (checked.codespace === 'sdk' && OF_STATE.includes(checked.code))

/** Of refusals by several nodes the one that lasts least: that node may take it yet. */
const leastLasting = (refusals: readonly Checked[]): Checked | undefined =>
  refusals.find(isBeforeFirstBlock) ?? refusals.find((refusal) => !isFeeTooLow(refusal)) ?? refusals[0]

const saysInMempool = says(/tx already exists in cache/i)
const saysTooLarge = says(/tx too large/i)
const saysNotFound = says(/\btx \([0-9a-f]+\) not found/i)

/** The node has no block in the range: those it has end, or begin, elsewhere. */
const outOfRange = /min height [0-9]+ can't be greater than max height ([0-9]+)/i

/** How long a transaction that a node took is taken to wait there, unless it is found elsewhere. */
const WAITING_MS = 5_000

export type CosmosRpc = ReturnType<typeof createQuestions>

/**
 * What a Cosmos network answers, over `createJsonRpc`: see there how its nodes are asked. A node that answers for something
 * else than it was asked for is passed over like one that answers nonsense.
 */
export function createRpc(nodes: Nodes, compareMs?: number) {
  const jsonRpc = createJsonRpc(nodes, dialectOf(nodes.chainId), compareMs)
  const taken = createTaken()

  return {
    ...createQuestions(nodes, jsonRpc.ask, taken),

    /** The same, beginning with the node that is furthest; undefined where the usual first one is as far. */
    async furthest(): Promise<CosmosRpc | undefined> {
      const ask = await jsonRpc.askFurthest()
      return ask && createQuestions(nodes, ask, taken)
    },

    /** Of each node, in their order, whether it can simulate; undefined where it gives no answer. */
    async canSimulate(): Promise<(boolean | undefined)[]> {
      const params = { path: SIMULATE, data: '', height: '0', prove: false }
      const answers = await jsonRpc.askEach({ method: 'abci_query', params })
      return answers.map((answer) => {
        const { data } = Query.safeParse(answer?.result)
        return data && !lacksSimulate(data)
      })
    },

    /** See `createJsonRpc`. */
    heights: jsonRpc.heights,
    close: (): void => jsonRpc.close(),
  }
}

type Taken = ReturnType<typeof createTaken>

/** The transactions that some node took a few seconds ago. */
function createTaken() {
  const taken = new Map<string, number>()
  return {
    add(hash: string): void {
      const now = performance.now()
      for (const [other, at] of taken) if (now - at > WAITING_MS) taken.delete(other)
      taken.set(hash, now)
    },
    has(hash: string): boolean {
      const at = taken.get(hash)
      return at !== undefined && performance.now() - at <= WAITING_MS
    },
  }
}

function createQuestions({ name, chainId }: Pick<Nodes, 'name' | 'chainId'>, ask: Ask, taken: Taken) {
  const query = (
    path: string,
    request: Uint8Array,
    {
      height = 0n,
      since = 0n,
      mayRefuse,
    }: { height?: bigint; since?: bigint; mayRefuse?: (refused: Refused) => boolean } = {},
  ): Promise<Query> =>
    ask({
      method: 'abci_query',
      params: { path, data: hex(request), height: String(height), prove: false },
      schema: Query,
      doubt: (answer) => {
        if (answer.code !== 0 && !mayRefuse?.(answer))
          return `code ${answer.code} (${answer.codespace}): ${answer.log}`
        // A node that refuses need not tell by which state.
        if (answer.height < since && (answer.code === 0 || answer.height !== 0n))
          return `the state of block ${answer.height}, behind ${since}`
        return answer.code === 0 && height !== 0n && answer.height !== height
          ? `the state of block ${answer.height} instead of ${height}`
          : undefined
      },
    })

  const newestBlock = sharedInTurn(async () => {
    const { block } = await ask({ method: 'status', params: {}, schema: Status })
    return block
  })

  const blockAt = sharedInTurn(async (number: bigint): Promise<Block | undefined> => {
    const height = String(number)
    try {
      const [meta] = await ask({
        method: 'blockchain',
        params: { minHeight: height, maxHeight: height },
        schema: BlockMetas,
        settles: says(outOfRange),
        doubt: (metas) =>
          metas.length === 1 && metas[0]?.block.number === number && metas[0].chainId === chainId
            ? undefined
            : 'another block',
      })
      return meta?.block
    } catch (error) {
      const newest = error instanceof RpcError && outOfRange.exec(error.message)?.[1]
      if (!newest) throw error
      if (BigInt(newest) < number) return undefined
      throw new ChainUnavailable(`${name} does not keep block ${number} any more`, { cause: error })
    }
  })

  return {
    ...createQueries(name, query),

    /** The newest block. */
    newestBlock,
    /** The block that the chain has at this height; undefined where the node that was asked is not that far. */
    blockAt,

    /** What became of the transaction with this hash; undefined where the node has it in no block, as far as it has read them. */
    async tx(hash: string): Promise<TxResult | undefined> {
      try {
        return await ask({
          method: 'tx',
          params: { hash: base64(Buffer.from(hash, 'hex')), prove: false },
          schema: TxResult,
          settles: saysNotFound,
          doubt: (found) => (found.hash === hash ? undefined : 'another transaction'),
        })
      } catch (error) {
        if (error instanceof RpcError) return undefined
        throw error
      }
    },

    /**
     * The transaction that took this sequence of an account, whatever it does; undefined where the node knows of none. By the
     * events `tx.acc_seq`, which a node has to index.
     */
    async txOfSequence(address: string, sequence: bigint): Promise<TxResult | undefined> {
      const { txs } = await ask({
        method: 'tx_search',
        params: {
          query: `tx.acc_seq='${address}/${sequence}'`,
          prove: false,
          page: '1',
          per_page: '2',
          order_by: 'desc',
        },
        schema: TxSearch,
      })
      return txs.find(({ isCharged }) => isCharged)
    },

    /**
     * Offers a transaction to a node, which checks it as it would a block's: code 0 where it takes it, 19 (of the codespace
     * `sdk`) where it has it already. Where a node refuses it for what another may judge otherwise, that one is offered it as
     * well; the answer is a refusal where each node that was sent it refused.
     */
    async broadcast(txBytes: Uint8Array): Promise<Checked> {
      const hash = hashOf(txBytes)
      const refusals: Checked[] = []
      try {
        const answer = await ask({
          method: 'broadcast_tx_sync',
          params: { tx: base64(txBytes) },
          schema: Broadcast,
          settles: (error) => saysInMempool(error) || saysTooLarge(error),
          doubt(told, mayBeDone) {
            if (told.hash !== hash) return 'another transaction'
            const words = `code ${told.code} (${told.codespace}): ${told.log}`
            if (isOfOneNode(told)) {
              refusals.push(told)
              return { undone: words }
            }
            // Refused by one node, and may wait with another: nobody may take it for refused by all.
            return told.code === 0 || !mayBeDone
              ? undefined
              : `code ${told.code}, after one that may have taken it`
          },
        })
        if (answer.code === 0) taken.add(hash)
        return answer
      } catch (error) {
        const refusal = leastLasting(refusals)
        if (error instanceof Unanswered && !error.mayBeDone && refusal !== undefined) return refusal
        if (!(error instanceof RpcError)) throw error
        if (/tx already exists in cache/i.test(error.message)) {
          taken.add(hash)
          return { ...IN_MEMPOOL, log: error.message }
        }
        if (error.mayBeDone) throw new ChainUnavailable(error.message, { cause: error })
        return { ...TOO_LARGE, log: error.message }
      }
    },

    /** Whether a node took this transaction some seconds ago, so that it hardly has to be sent again. */
    isTaken: (hash: string): boolean => taken.has(hash),
  }
}
