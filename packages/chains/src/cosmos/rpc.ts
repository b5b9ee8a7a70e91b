import { ChainUnavailable } from '../errors'
import { type Nodes, type ObserveRequest } from '../family'
import { coalesce } from '../json-rpc/coalesce'
import { type NodeProtocol, type RpcErrorObject } from '../json-rpc/endpoint'
import { createJsonRpc } from '../json-rpc/rpc'
import { NoResponse, observing, RpcError, type SendRequest } from '../json-rpc/sender'
import { type Block, BlockMetas, Broadcast, hashOf, Query, Status, TxResult, TxSearch } from './rpc-schemas'
import { createQueries, lacksSimulate, type QueryError, SIMULATE } from './queries'

/** CometBFT's default `max_request_batch_size`. */
const MAX_BATCH = 10
const METHOD_NOT_FOUND = -32601

/** CometBFT nodes put almost the whole error text into `data`. */
const errorMessage = ({ message, data }: RpcErrorObject): string =>
  typeof data === 'string' ? `${message}: ${data}` : message

const hasMessage = (pattern: RegExp) => (error: RpcErrorObject) => pattern.test(errorMessage(error))

/** Refuses a node that is still syncing, because its state is old. */
const createProtocol = (chainId: string): NodeProtocol => ({
  identity: {
    request: { method: 'status', params: {} },
    problem(result) {
      const { data } = Status.safeParse(result)
      if (data === undefined) return 'does not return its chain id'
      if (data.chainId !== chainId) return `is on chain ${data.chainId.slice(0, 64)}, not ${chainId}`
      return data.isCatchingUp ? 'is still catching up with its chain' : undefined
    },
  },
  height: {
    request: { method: 'status', params: {} },
    read: (result) => Status.safeParse(result).data?.block.number,
  },
  maxBatch: MAX_BATCH,
  lacksMethod: ({ code }) => code === METHOD_NOT_FOUND,
  errorMessage,
})

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64')

/** Error codes of the Cosmos SDK for two cases that CometBFT reports by a message. */
export const IN_MEMPOOL = { codespace: 'sdk', code: 19 }
const TOO_LARGE = { codespace: 'sdk', code: 21 }
/** The result of a node's CheckTx. */
export type CheckTxResult = { code: number; codespace: string; log: string }

/** Below the minimum gas price of this node's operator. */
export const isFeeTooLow = ({ code, codespace }: CheckTxResult): boolean => codespace === 'sdk' && code === 13

/**
 * After a restart and until its next block, a node takes every account for a genesis account of number 0, so that it finds
 * the signatures of all others wrong.
 */
export const isBeforeFirstBlock = ({ code, codespace, log }: CheckTxResult): boolean =>
  codespace === 'sdk' && code === 4 && /account number \(?0\b/i.test(log)

/** Insufficient funds, unknown account, wrong sequence: a node that is behind reports these by mistake. */
const STATE_CODES = [5, 9, 32]

/** Whether another node may decide otherwise. */
const isNodeSpecific = (result: CheckTxResult): boolean =>
  isFeeTooLow(result) ||
  isBeforeFirstBlock(result) ||
  (result.codespace === 'sdk' && STATE_CODES.includes(result.code))

/** Of several nodes' refusals the one that is most likely to pass. */
const mostTransient = (refusals: readonly CheckTxResult[]): CheckTxResult | undefined =>
  refusals.find(isBeforeFirstBlock) ?? refusals.find((refusal) => !isFeeTooLow(refusal)) ?? refusals[0]

const inMempool = /tx already exists in cache/i
const isInMempool = hasMessage(inMempool)
const isTooLarge = hasMessage(/tx too large/i)
const isNotFound = hasMessage(/\btx \([0-9a-f]+\) not found/i)

/** The node has no block in the requested range; the group is its newest height. */
const outOfRange = /min height [0-9]+ can't be greater than max height ([0-9]+)/i

/** An accepted transaction counts as waiting for this long, even if no node finds it. */
const ACCEPTED_TTL_MS = 5_000

export type CosmosRpc = ReturnType<typeof createMethods>

/** `furthest`: see `findFurthest` of `createJsonRpc`. */
export type NodesRpc = CosmosRpc & { furthest(): Promise<CosmosRpc | undefined> }

/** The RPC methods of a Cosmos network, over `createJsonRpc`. A result for another request counts as malformed. */
export function createRpc(nodes: Nodes, compareMs?: number) {
  const jsonRpc = createJsonRpc(nodes, createProtocol(nodes.chainId), compareMs)
  const accepted = createAcceptedTransactions()

  const observed = (observe?: ObserveRequest): NodesRpc => ({
    ...createMethods(nodes, observing(jsonRpc.request, observe), accepted),
    async furthest() {
      const send = await jsonRpc.findFurthest()
      return send && createMethods(nodes, observing(send, observe), accepted)
    },
  })

  return {
    ...observed(),
    observed,

    /** For each node, whether it can simulate; undefined if it gives no response. */
    async canSimulate(): Promise<(boolean | undefined)[]> {
      const params = { path: SIMULATE, data: '', height: '0', prove: false }
      const responses = await jsonRpc.requestEach({ method: 'abci_query', params })
      return responses.map((response) => {
        const { data } = Query.safeParse(response?.result)
        return data && !lacksSimulate(data)
      })
    },

    heights: jsonRpc.heights,
    inspect: jsonRpc.inspect,
    close: (): void => jsonRpc.close(),
  }
}

type AcceptedTransactions = ReturnType<typeof createAcceptedTransactions>

/** The transactions that a node accepted in the last `ACCEPTED_TTL_MS`. */
function createAcceptedTransactions() {
  const acceptedAt = new Map<string, number>()
  return {
    add(hash: string): void {
      const now = performance.now()
      for (const [other, at] of acceptedAt) if (now - at > ACCEPTED_TTL_MS) acceptedAt.delete(other)
      acceptedAt.set(hash, now)
    },
    has(hash: string): boolean {
      const at = acceptedAt.get(hash)
      return at !== undefined && performance.now() - at <= ACCEPTED_TTL_MS
    },
  }
}

function createMethods(
  { name, chainId }: Pick<Nodes, 'name' | 'chainId'>,
  send: SendRequest,
  accepted: AcceptedTransactions,
) {
  const query = (
    path: string,
    request: Uint8Array,
    {
      height = 0n,
      minBlock = 0n,
      isExpectedError,
    }: { height?: bigint; minBlock?: bigint; isExpectedError?: (error: QueryError) => boolean } = {},
  ): Promise<Query> =>
    send({
      method: 'abci_query',
      params: { path, data: hex(request), height: String(height), prove: false },
      schema: Query,
      findProblem: (result) => {
        if (result.code !== 0 && !isExpectedError?.(result))
          return `code ${result.code} (${result.codespace}): ${result.log}`
        // An error need not come with the height of the state.
        if (result.height < minBlock && (result.code === 0 || result.height !== 0n))
          return `the state of block ${result.height}, behind ${minBlock}`
        return result.code === 0 && height !== 0n && result.height !== height
          ? `the state of block ${result.height} instead of ${height}`
          : undefined
      },
    })

  const newestBlock = coalesce(async () => {
    const { block } = await send({ method: 'status', params: {}, schema: Status })
    return block
  })

  const blockAt = coalesce(async (number: bigint): Promise<Block | undefined> => {
    const height = String(number)
    try {
      const [meta] = await send({
        method: 'blockchain',
        params: { minHeight: height, maxHeight: height },
        schema: BlockMetas,
        isFinal: hasMessage(outOfRange),
        findProblem: (metas) =>
          metas.length === 1 && metas[0]?.block.number === number && metas[0].chainId === chainId
            ? undefined
            : 'another block',
      })
      return meta?.block
    } catch (error) {
      const newest = error instanceof RpcError && outOfRange.exec(error.message)?.[1]
      if (!newest) throw error
      if (BigInt(newest) < number) return undefined
      throw new ChainUnavailable(`${name} has pruned block ${number}`, { cause: error })
    }
  })

  return {
    ...createQueries(name, query),

    newestBlock,
    /** The block at this height; undefined if the node has not reached it. */
    blockAt,

    /** The mined transaction with this hash; undefined if the node has indexed none. */
    async tx(hash: string): Promise<TxResult | undefined> {
      try {
        return await send({
          method: 'tx',
          params: { hash: base64(Buffer.from(hash, 'hex')), prove: false },
          schema: TxResult,
          isFinal: isNotFound,
          findProblem: (found) => (found.hash === hash ? undefined : 'another transaction'),
        })
      } catch (error) {
        if (error instanceof RpcError) return undefined
        throw error
      }
    },

    /** The mined transaction that used this sequence of an account; undefined if the node has indexed no such `tx.acc_seq`. */
    async txOfSequence(address: string, sequence: bigint): Promise<TxResult | undefined> {
      const { txs } = await send({
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
     * Submits a transaction to a node's CheckTx: code 0 if accepted, 19 (codespace `sdk`) if already in its mempool. If the
     * refusal is specific to the node, the next one is tried. Resolves to a refusal only if every node that received the
     * transaction refused it.
     */
    async broadcast(txBytes: Uint8Array): Promise<CheckTxResult> {
      const hash = hashOf(txBytes)
      const refusals: CheckTxResult[] = []
      try {
        const result = await send({
          method: 'broadcast_tx_sync',
          params: { tx: base64(txBytes) },
          schema: Broadcast,
          isFinal: (error) => isInMempool(error) || isTooLarge(error),
          findProblem(result, mayHaveExecuted) {
            if (result.hash !== hash) return 'another transaction'
            if (isNodeSpecific(result)) {
              refusals.push(result)
              return { notExecuted: `code ${result.code} (${result.codespace}): ${result.log}` }
            }
            // This node refused it, but an earlier one may have it in its mempool.
            return result.code === 0 || !mayHaveExecuted
              ? undefined
              : `code ${result.code}, after a node that may have accepted it`
          },
        })
        if (result.code === 0) accepted.add(hash)
        return result
      } catch (error) {
        const refusal = mostTransient(refusals)
        if (error instanceof NoResponse && !error.mayHaveExecuted && refusal !== undefined) return refusal
        if (!(error instanceof RpcError)) throw error
        if (inMempool.test(error.message)) {
          accepted.add(hash)
          return { ...IN_MEMPOOL, log: error.message }
        }
        if (error.mayHaveExecuted) throw new ChainUnavailable(error.message, { cause: error })
        return { ...TOO_LARGE, log: error.message }
      }
    },

    /** Whether a node accepted this transaction a few seconds ago, so that it need not be sent again. */
    wasAccepted: (hash: string): boolean => accepted.has(hash),
  }
}
