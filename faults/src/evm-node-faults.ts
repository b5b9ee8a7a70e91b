import { unavailableNodes, type Ask, type Fault, type Lie, type Question } from './node-proxy'

/** The effect of a transaction, as a node reports it. */
type Seen = { status: string; logs: unknown[] }
type Receipt = Seen & { transactionHash: string }

/** The lag of a stale node, in blocks. */
export const BLOCKS_BEHIND = 5
/** Positional parameters. */
const of = (params: Question['params']) => params as readonly unknown[]
const hex = (value: bigint) => `0x${value.toString(16)}`

/**
 * A node that denies transfers, in receipts and event searches. If the only node shows that an authorization was used and hides
 * its transfer, it is believed: the payment is a mismatch, and its asset is suspended (ADR 26). That is no fault to withstand.
 */
const transfersThat = (altered: (seen: Seen) => Seen): Fault => ({
  async answers({ method, params }, ask, lie) {
    const result = await ask(method, params)
    if (result === null) return result
    if (method === 'eth_getLogs') return lie(altered({ status: '0x1', logs: result as unknown[] }).logs)
    if (method !== 'eth_getTransactionReceipt') return result
    const receipt = result as Receipt
    return lie({ ...receipt, ...altered(receipt) }, receipt.transactionHash)
  },
})

export const evmNodeFaults = {
  ...unavailableNodes,
  'is on another chain': { isElsewhere: true },
  'omits the events of transactions': transfersThat(({ status }) => ({ status, logs: [] })),
  'reports successful transactions as failed': transfersThat(() => ({ status: '0x0', logs: [] })),
  'returns receipts for transactions that were never mined': {
    async answers({ method, params }, ask, lie) {
      if (method === 'eth_sendRawTransaction') return lie(await ask('web3_sha3', of(params).slice(0, 1)))
      const result = await ask(method, params)
      if (method !== 'eth_getTransactionReceipt' || result !== null) return result
      const block = (await ask('eth_getBlockByNumber', ['latest', false])) as { number: string; hash: string }
      const transaction = of(params)[0] as string
      return lie(inventedReceipt(transaction, block), transaction)
    },
  },
  'shows an old chain': {
    async answers({ method, params }, ask, lie) {
      const height = BigInt((await ask('eth_blockNumber', [])) as string) - BigInt(BLOCKS_BEHIND)
      return stale(method, of(params), { height, ask, lie })
    },
  },
} satisfies Record<string, Fault>

const inventedReceipt = (transactionHash: string, { number, hash }: { number: string; hash: string }) => ({
  transactionHash,
  transactionIndex: '0x0',
  blockNumber: number,
  blockHash: hash,
  from: '0x0000000000000000000000000000000000000001',
  to: '0x0000000000000000000000000000000000000002',
  cumulativeGasUsed: '0x5208',
  gasUsed: '0x5208',
  effectiveGasPrice: '0x3b9aca00',
  contractAddress: null,
  status: '0x1',
  type: '0x2',
  logsBloom: `0x${'00'.repeat(256)}`,
  logs: [],
})

const STATE_METHODS = [
  'eth_call',
  'eth_getBalance',
  'eth_getTransactionCount',
  'eth_getCode',
  'eth_estimateGas',
]

async function stale(
  method: string,
  params: readonly unknown[],
  { height, ask, lie }: { height: bigint; ask: Ask; lie: Lie },
): Promise<unknown> {
  if (method === 'eth_blockNumber') return lie(hex(height))
  const at = (block: unknown) => (block === 'latest' || block === 'pending' ? hex(height) : block)
  if (method === 'eth_getBlockByNumber') return lie(await ask(method, [at(params[0]), params[1]]))
  if (STATE_METHODS.includes(method))
    return lie(await ask(method, [params[0], at(params[1] ?? 'latest'), ...params.slice(2)]))
  if (method === 'eth_getLogs')
    return lie(await ask(method, [{ ...(params[0] as object), toBlock: hex(height) }]))
  const result = (await ask(method, params)) as { blockNumber?: string } | null
  if (method !== 'eth_getTransactionReceipt' || result?.blockNumber === undefined) return result
  return BigInt(result.blockNumber) > height ? lie(null) : result
}
