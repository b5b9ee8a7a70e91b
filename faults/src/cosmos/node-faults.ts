import { createHash } from 'node:crypto'
import { BLOCKS_BEHIND } from '../evm-node-faults'
import { Refused, unavailableNodes, type Ask, type Fault, type Lie, type Question } from '../node-proxy'

type TxAnswer = { hash: string; height: string; tx: string; tx_result: { code: number; events: unknown[] } }
type TxSearch = { txs: TxAnswer[]; total_count: string }
type Status = {
  node_info: { network: string }
  sync_info: { latest_block_height: string; latest_block_hash: string; latest_block_time: string }
}
type BlockMetas = { block_metas: { block_id: { hash: string }; header: { time: string } }[] }

type Parameters = Readonly<Record<string, unknown>>
/** Named parameters. */
const of = ({ params }: Pick<Question, 'params'>) => params as Parameters

const internal = (data: string) => new Refused({ code: -32603, message: 'Internal error', data })
const notFound = (hash: string) => internal(`tx (${hash}) not found`)
const hashOf = (tx: string) =>
  createHash('sha256').update(Buffer.from(tx, 'base64')).digest('hex').toUpperCase()
const taken = (tx: string) => ({ code: 0, data: '', log: '', codespace: '', hash: hashOf(tx) })

/** A node that returns altered transactions; undefined: that finds none. */
const transactionsThat = (altered: (found: TxAnswer) => TxAnswer | undefined): Fault => ({
  async answers({ method, params }, ask, lie) {
    const result = await ask(method, params)
    if (method === 'tx') {
      const { hash } = result as TxAnswer
      const falseResult = lie(altered(result as TxAnswer), hash)
      if (falseResult === undefined) throw notFound(hash)
      return falseResult
    }
    if (method !== 'tx_search') return result
    const { txs } = result as TxSearch
    if (txs.length === 0) return result
    const left = txs.flatMap((found) => altered(found) ?? [])
    return lie({ txs: left, total_count: String(left.length) })
  },
})

const failed = (found: TxAnswer, events: unknown[]): TxAnswer => ({
  ...found,
  tx_result: { ...found.tx_result, ...refusal, events },
})
const refusal = { code: 5, codespace: 'sdk', log: 'spendable balance is smaller: insufficient funds' }

/** Accepted but not forwarded transactions, by hash. */
const invented = new Map<string, string>()

export const cosmosNodeFaults: Readonly<Record<string, Fault>> = {
  ...unavailableNodes,
  'is on another chain': {
    async answers({ method, params }, ask, lie) {
      if (method === 'tx') throw lie(notFound(''))
      if (method === 'tx_search') return lie({ txs: [], total_count: '0' })
      const result = await ask(method, params)
      if (method === 'status') {
        const { node_info, ...rest } = result as Status
        return lie({ ...rest, node_info: { ...node_info, network: 'elsewhere-1' } })
      }
      if (method !== 'abci_query') return result
      const log = 'account not found: key not found'
      return lie({
        response: { ...(result as { response: object }).response, code: 22, codespace: 'sdk', log },
      })
    },
  },
  'says that its mempool is full': {
    answers({ method, params }, ask, lie) {
      if (method !== 'broadcast_tx_sync') return ask(method, params)
      throw lie(internal('mempool is full: number of txs 5000 (max: 5000)'))
    },
  },
  'accepts transactions and drops them': {
    answers({ method, params }, ask, lie) {
      if (method !== 'broadcast_tx_sync') return ask(method, params)
      return Promise.resolve(lie(taken(of({ params })['tx'] as string)))
    },
  },
  'finds no transaction': transactionsThat(() => undefined),
  'reports that transactions failed before they took anything': transactionsThat((found) =>
    failed(found, []),
  ),
  'shows transactions in the wrong blocks': {
    async answers({ method, params }, ask, lie) {
      if (method === 'broadcast_tx_sync') {
        const tx = of({ params })['tx'] as string
        invented.set(hashOf(tx), tx)
        return lie(taken(tx))
      }
      if (method !== 'tx') return ask(method, params)
      const hash = Buffer.from(of({ params })['hash'] as string, 'base64')
        .toString('hex')
        .toUpperCase()
      const tx = invented.get(hash)
      if (tx === undefined) return ask(method, params)
      const { sync_info } = (await ask('status', {})) as Status
      return lie(inventedAnswer(hash, tx, sync_info.latest_block_height), hash)
    },
  },
  'shows an old chain': {
    async answers(question, ask, lie) {
      const { sync_info } = (await ask('status', {})) as Status
      return stale(question, BigInt(sync_info.latest_block_height) - BigInt(BLOCKS_BEHIND), ask, lie)
    },
  },
}

const inventedAnswer = (hash: string, tx: string, height: string) => ({
  hash,
  height,
  index: 0,
  tx_result: {
    code: 0,
    data: '',
    log: '',
    info: '',
    gas_wanted: '150000',
    gas_used: '90000',
    events: [{ type: 'message', attributes: [{ key: 'module', value: 'bank', index: true }] }],
    codespace: '',
  },
  tx,
})

async function stale(question: Question, height: bigint, ask: Ask, lie: Lie): Promise<unknown> {
  const { method } = question
  const params = of(question)
  if (method === 'status') {
    const { sync_info, ...rest } = (await ask(method, params)) as Status
    return lie({ ...rest, sync_info: { ...sync_info, ...(await newestAt(height, ask)) } })
  }
  if (method === 'blockchain' && BigInt(params['minHeight'] as string) > height)
    throw lie(
      internal(`min height ${String(params['minHeight'])} can't be greater than max height ${height}`),
    )
  // A simulation includes pending transactions, at any requested height.
  if (method === 'abci_query' && params['height'] === '0' && !/Simulate$/.test(params['path'] as string))
    return lie(await ask(method, { ...params, height: String(height) }))
  const result = await ask(method, params)
  if (method === 'tx' && BigInt((result as TxAnswer).height) > height)
    throw lie(notFound((result as TxAnswer).hash))
  if (method !== 'tx_search') return result
  const txs = (result as TxSearch).txs.filter((found) => BigInt(found.height) <= height)
  return lie({ txs, total_count: String(txs.length) })
}

async function newestAt(height: bigint, ask: Ask) {
  const of = String(height)
  const { block_metas } = (await ask('blockchain', { minHeight: of, maxHeight: of })) as BlockMetas
  const [meta] = block_metas
  return {
    latest_block_height: of,
    latest_block_hash: meta?.block_id.hash,
    latest_block_time: meta?.header.time,
  }
}
