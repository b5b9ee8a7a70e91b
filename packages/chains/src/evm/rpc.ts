import type { z } from 'zod'
import { ChainUnavailable } from '../errors'
import { type Nodes, type ObserveRequest } from '../family'
import { coalesce } from '../json-rpc/coalesce'
import { type NodeProtocol, type RpcErrorObject } from '../json-rpc/endpoint'
import { createJsonRpc } from '../json-rpc/rpc'
import { observing, RpcError, type SendRequest } from '../json-rpc/sender'
import { Block, Quantity, quantity } from './rpc-schemas'
import { isOutOfGas, revertText } from './revert'

/** The batch limit of many public nodes. */
const MAX_BATCH = 20

/** The node cannot respond, but another node may: codes of EIP-1474 and of providers. */
const unavailableCodes = new Set([
  -32700, -32600, -32601, -32603, -32001, -32002, -32004, -32005, -32097, 429,
])
const unavailableMessage = /header not found|unknown block|missing trie node|rate limit|too many/i

/** EIP-1474: method not found, method not supported, invalid params. Providers also use other codes with these messages. */
const methodMissingCodes = new Set([-32601, -32004, -32602])
const methodMissingMessage =
  /unsupported method|method .*\b(not (supported|available|found|allowed)|does not exist)|method .*\bdisabled/i
const lacksMethod = ({ code, message }: RpcErrorObject): boolean =>
  methodMissingCodes.has(code) || (methodMissingMessage.test(message) && !unavailableMessage.test(message))

const REVERTED = 3
const evmFailureMessage = /revert|EVM error|invalid opcode|invalid jump|stack (over|under)flow/i
/** Tested before `unavailableMessage`, because a contract chooses its own revert reason: "rate limit", for example. */
const isEvmFailure = ({ code, message }: RpcErrorObject): boolean =>
  code === REVERTED || evmFailureMessage.test(message) || isOutOfGas(message)
const isRefusal = (error: RpcErrorObject): boolean =>
  isEvmFailure(error) || !(unavailableCodes.has(error.code) || unavailableMessage.test(error.message))

const createProtocol = (chainId: string): NodeProtocol => ({
  identity: {
    request: { method: 'eth_chainId', params: [] },
    problem(result) {
      const { data } = Quantity.safeParse(result)
      if (data === undefined) return 'does not return its chain id'
      return data === BigInt(chainId) ? undefined : `is on chain ${data}, not ${chainId}`
    },
  },
  height: {
    request: { method: 'eth_blockNumber', params: [] },
    read: (result) => Quantity.safeParse(result).data,
  },
  maxBatch: MAX_BATCH,
  lacksMethod,
  errorMessage: (error) => (isEvmFailure(error) ? revertText(error) : error.message),
})

export type Rpc = ReturnType<typeof createMethods>

/** `furthest`: see `findFurthest` of `createJsonRpc`. */
export type NodesRpc = Rpc & { furthest(): Promise<Rpc | undefined> }

/** The return data of a call, or why it reverted. */
type RunResult<T> = { value: T } | { reverted: string }

/** The RPC methods of an Ethereum network, over `createJsonRpc`. */
export function createRpc(nodes: Nodes, compareMs?: number) {
  const jsonRpc = createJsonRpc(nodes, createProtocol(nodes.chainId), compareMs)
  const observed = (observe?: ObserveRequest): NodesRpc => ({
    ...createMethods(nodes.name, observing(jsonRpc.request, observe)),
    async furthest() {
      const send = await jsonRpc.findFurthest()
      return send && createMethods(nodes.name, observing(send, observe))
    },
  })
  return {
    ...observed(),
    observed,
    heights: jsonRpc.heights,
    inspect: jsonRpc.inspect,
    close: (): void => jsonRpc.close(),
  }
}

function createMethods(name: string, send: SendRequest) {
  /** For requests that a node has no reason to refuse: after an error, the next node is tried. */
  const call = <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
    send({ schema, method, params })

  const newestBlock = coalesce(() => call(Block, 'eth_getBlockByNumber', ['latest', false]))
  const height = coalesce(() => call(Quantity, 'eth_blockNumber', []))
  const blockAt = coalesce(async (number: bigint) => {
    const block = await call(Block.nullable(), 'eth_getBlockByNumber', [quantity(number), false])
    if (block !== null && block.number !== number)
      throw new ChainUnavailable(`${name} responded with block ${block.number} instead of ${number}`)
    return block ?? undefined
  })

  return {
    /** For requests that a node may refuse: rejects with `RpcError` if one does. */
    tryCall: <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<T> =>
      send({ schema, method, params, isFinal: isRefusal }),

    call,
    newestBlock,
    /** The number of the newest block. */
    height,
    /** The block at this height; undefined if the node has not reached it. */
    blockAt,

    /** Executes code without changing the chain (`eth_call`, `eth_estimateGas`). */
    run: <T>(schema: z.ZodType<T>, method: string, params: readonly unknown[]): Promise<RunResult<T>> =>
      send({ schema, method, params, isFinal: isEvmFailure }).then(
        (value) => ({ value }),
        (error: unknown) => {
          if (error instanceof RpcError) return { reverted: error.message }
          throw error
        },
      ),
  }
}
