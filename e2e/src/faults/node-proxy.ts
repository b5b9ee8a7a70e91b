import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'

type Question = { id: number; method: string; params: unknown[] }
type Reply = { jsonrpc: '2.0'; id: number; result?: unknown; error?: unknown }
/** Asks the honest node, and rejects with `Refused` where it refuses. */
type Ask = (method: string, ...params: unknown[]) => Promise<unknown>
type Log = { topics: string[] }
/** What a node says that a transaction did. */
type Seen = { status: string; logs: Log[] }
type Receipt = Seen & { transactionHash: string }
/** Notes an answer that is not the honest one, and which transaction's receipt it is, and answers it. */
type Lie = <Told>(told: Told, transaction?: string) => Told

/** What can be wrong with a node that still has a port. */
export type Fault = {
  /** Instead of any answer. */
  refuses?: (res: ServerResponse) => void
  /** One answer for another. */
  answers?: (question: Question, ask: Ask, lie: Lie) => Promise<unknown>
  /** It is a node of another chain. */
  isElsewhere?: true
}

class Refused extends Error {
  constructor(readonly error: unknown) {
    super('The node refuses')
  }
}

/** How many blocks a node is behind that shows an old chain. */
export const BLOCKS_BEHIND = 5
const hex = (value: bigint) => `0x${value.toString(16)}`

/** ERC-20: `Transfer(address,address,uint256)`. */
const TRANSFER = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'

/** A node that says of what moved money that it moved none, in its receipts and where events are searched for. */
const moneyThat = (altered: (seen: Seen) => Seen): Fault => ({
  async answers({ method, params }, ask, lie) {
    const result = await ask(method, ...params)
    if (result === null) return result
    if (method === 'eth_getLogs') return lie(altered({ status: '0x1', logs: result as Log[] }).logs)
    if (method !== 'eth_getTransactionReceipt') return result
    const receipt = result as Receipt
    return lie({ ...receipt, ...altered(receipt) }, receipt.transactionHash)
  },
})

export const nodeFaults = {
  'answers nothing': { refuses: () => undefined },
  'breaks the connection': { refuses: (res) => res.destroy() },
  'answers 502 with a page': {
    refuses: (res) => void res.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>'),
  },
  'is on another chain': { isElsewhere: true },
  'leaves out the events of transactions': moneyThat(({ status }) => ({ status, logs: [] })),
  'says of transactions that they succeeded and moved nothing': moneyThat(({ status, logs }) => ({
    status,
    logs: logs.filter(({ topics }) => topics[0] !== TRANSFER),
  })),
  'says that what succeeded failed': moneyThat(() => ({ status: '0x0', logs: [] })),
  'gives receipts for what was never mined': {
    async answers({ method, params }, ask, lie) {
      if (method === 'eth_sendRawTransaction') return lie(await ask('web3_sha3', params[0]))
      const result = await ask(method, ...params)
      if (method !== 'eth_getTransactionReceipt' || result !== null) return result
      const block = (await ask('eth_getBlockByNumber', 'latest', false)) as { number: string; hash: string }
      const transaction = params[0] as string
      return lie(inventedReceipt(transaction, block), transaction)
    },
  },
  'shows an old chain': {
    async answers({ method, params }, ask, lie) {
      const height = BigInt((await ask('eth_blockNumber')) as string) - BigInt(BLOCKS_BEHIND)
      return stale({ method, params }, { height, ask, lie })
    },
  },
} satisfies Record<string, Fault>

export type FaultName = keyof typeof nodeFaults

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

/** The answer of a node whose newest block is that of this height. */
async function stale(
  { method, params }: Pick<Question, 'method' | 'params'>,
  { height, ask, lie }: { height: bigint; ask: Ask; lie: Lie },
): Promise<unknown> {
  if (method === 'eth_blockNumber') return lie(hex(height))
  const at = (block: unknown) => (block === 'latest' || block === 'pending' ? hex(height) : block)
  if (method === 'eth_getBlockByNumber') return lie(await ask(method, at(params[0]), params[1]))
  if (STATE_METHODS.includes(method))
    return lie(await ask(method, params[0], at(params[1] ?? 'latest'), ...params.slice(2)))
  if (method === 'eth_getLogs')
    return lie(await ask(method, { ...(params[0] as object), toBlock: hex(height) }))
  const result = (await ask(method, ...params)) as { blockNumber?: string } | null
  if (method !== 'eth_getTransactionReceipt' || result?.blockNumber === undefined) return result
  return BigInt(result.blockNumber) > height ? lie(null) : result
}

/** What a node did while it was faulty: its answers that were not honest, or were none, and whose receipts were not. */
type Told = { answers: number; receipts: Set<string> }

/** A node in front of two others, honest until it is told otherwise; `urls` are asked for with every question. */
export async function startNodeProxy(urls: () => { node: string; elsewhere: string }) {
  let fault: Fault = {}
  let told: Told = { answers: 0, receipts: new Set() }
  const lie: Lie = (answer, transaction) => {
    told.answers++
    if (transaction !== undefined) told.receipts.add(transaction.toLowerCase())
    return answer
  }

  async function forward(url: string, question: Question): Promise<Reply> {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ jsonrpc: '2.0', ...question })
    return (await (await fetch(url, { method: 'POST', headers, body })).json()) as Reply
  }

  async function reply({ id, method, params }: Question): Promise<Reply> {
    const { node, elsewhere } = urls()
    if (fault.isElsewhere) return lie(await forward(elsewhere, { id, method, params }))
    if (!fault.answers) return forward(node, { id, method, params })
    const ask: Ask = async (asked, ...of) => {
      const { result, error } = await forward(node, { id, method: asked, params: of })
      if (error !== undefined) throw new Refused(error)
      return result
    }
    try {
      return { jsonrpc: '2.0', id, result: (await fault.answers({ id, method, params }, ask, lie)) ?? null }
    } catch (error) {
      if (error instanceof Refused) return { jsonrpc: '2.0', id, error: error.error }
      throw error
    }
  }

  const server = createServer((req, res) => {
    void (async () => {
      const asked = (await json(req)) as Question | Question[]
      if (fault.refuses) {
        lie(undefined)
        fault.refuses(res)
        return
      }
      const replies = await Promise.all([asked].flat().map(reply))
      res.writeHead(200, { 'content-type': 'application/json' })
      res.end(JSON.stringify(Array.isArray(asked) ? replies : replies[0]))
    })().catch(() => res.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** From now on; answers what was told under the last fault. */
    become(next: Fault): Told {
      const before = told
      fault = next
      told = { answers: 0, receipts: new Set() }
      return before
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
