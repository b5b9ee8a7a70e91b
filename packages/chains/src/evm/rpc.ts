import type { z } from 'zod'
import { ChainUnavailable, type Nodes } from '../family'
import {
  type Ask,
  createJsonRpc,
  type Dialect,
  type ErrorAnswer,
  RpcError,
  sharedInTurn,
} from '../json-rpc/rpc'
import { Block, Quantity, quantity } from './answers'
import { isOutOfGas, revertText } from './revert'

/** Questions in one HTTP request; many public nodes take no more. */
const MAX_BATCH = 20

/** Codes by which a node says that it cannot answer, so that another may be asked: EIP-1474 and custom. */
const cannotAnswer = new Set([-32700, -32600, -32601, -32603, -32001, -32002, -32004, -32005, -32097, 429])
const cannotAnswerNow = /header not found|unknown block|missing trie node|rate limit|too many/i

/** Of EIP-1474: method not found, method not supported, invalid params. Providers also say so in words, by any code. */
const methodMissing = new Set([-32601, -32004, -32602])
const methodMissingByWords =
  /unsupported method|method .*\b(not (supported|available|found|allowed)|does not exist)|method .*\bdisabled/i
const lacksMethod = ({ code, message }: ErrorAnswer): boolean =>
  methodMissing.has(code) || (methodMissingByWords.test(message) && !cannotAnswerNow.test(message))

const REVERTED = 3
const failsInEvm = /revert|EVM error|invalid opcode|invalid jump|stack (over|under)flow/i
/** What a contract says while it fails is its own choice, "rate limit" among it. */
const failed = ({ code, message }: ErrorAnswer): boolean =>
  code === REVERTED || failsInEvm.test(message) || isOutOfGas(message)
const saysNo = (error: ErrorAnswer): boolean =>
  failed(error) || !(cannotAnswer.has(error.code) || cannotAnswerNow.test(error.message))

/** How Ethereum nodes talk; one that is on another chain than `chainId` is not used. */
const dialectOf = (chainId: string): Dialect => ({
  identity: {
    question: { method: 'eth_chainId', params: [] },
    problem(result) {
      const { data } = Quantity.safeParse(result)
      if (data === undefined) return 'does not tell its chain'
      return data === BigInt(chainId) ? undefined : `is on chain ${data}, not ${chainId}`
    },
  },
  height: {
    question: { method: 'eth_blockNumber', params: [] },
    read: (result) => Quantity.safeParse(result).data,
  },
  maxBatch: MAX_BATCH,
  lacksMethod,
  wordsOf: (error) => (failed(error) ? revertText(error) : error.message),
})

export type Rpc = ReturnType<typeof createQuestions>

/** What an Ethereum network answers, over `createJsonRpc`: see there how its nodes are asked. */
export function createRpc(nodes: Nodes, compareMs?: number) {
  const jsonRpc = createJsonRpc(nodes, dialectOf(nodes.chainId), compareMs)
  return {
    ...createQuestions(nodes.name, jsonRpc.ask),

    /** The same, beginning with the node that is furthest; undefined where the usual first one is as far. */
    async furthest(): Promise<Rpc | undefined> {
      const ask = await jsonRpc.askFurthest()
      return ask && createQuestions(nodes.name, ask)
    },

    /** See `createJsonRpc`. */
    heights: jsonRpc.heights,
    close: (): void => jsonRpc.close(),
  }
}

function createQuestions(name: string, inquire: Ask) {
  /** Asks what a node never has a reason to refuse: one that does is passed over. Reads the answer by its schema. */
  const call = <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
    inquire({ schema, method, params })

  const newestBlock = sharedInTurn(() => call(Block, 'eth_getBlockByNumber', ['latest', false]))
  const height = sharedInTurn(() => call(Quantity, 'eth_blockNumber', []))
  const blockAt = sharedInTurn(async (number: bigint) => {
    const block = await call(Block.nullable(), 'eth_getBlockByNumber', [quantity(number), false])
    if (block !== null && block.number !== number)
      throw new ChainUnavailable(`${name} answers block ${block.number} when asked for ${number}`)
    return block ?? undefined
  })

  return {
    /** Asks what a node may refuse; rejects with `RpcError` where it says no. */
    ask: <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
      inquire({ schema, method, params, settles: saysNo }),

    call,
    /** The newest block. */
    newestBlock,
    /** The number of the newest block. */
    height,
    /** The block that the chain has at this height; undefined where the node that was asked is not that far. */
    blockAt,

    /**
     * Runs code on the chain without changing it (`eth_call`, `eth_estimateGas`): its result, or why it fails. A node that
     * does not run it is passed over.
     */
    run: <T>(
      schema: z.ZodType<T>,
      method: string,
      params: readonly unknown[],
    ): Promise<{ value: T } | { reverted: string }> =>
      inquire({ schema, method, params, settles: failed }).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (error instanceof RpcError) return { reverted: error.message }
          throw error
        },
      ),
  }
}
