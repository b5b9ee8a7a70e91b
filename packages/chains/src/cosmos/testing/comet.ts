import { createHash } from 'node:crypto'
import { startJsonRpcNode } from '../../json-rpc/testing/node'
import type { Nodes } from '../../family'
import { createRpc } from '../rpc'
import { CHAIN_ID } from './transaction'

type Params = Record<string, string>
/** The response of a method: its result, or the text of an internal error. */
type Respond = (params: Params) => { result: unknown } | { problem: string } | undefined
/** The application's response to a query; `data` is the request. */
export type AbciResponse = (
  data: Uint8Array,
  height: string,
) => { code?: number; codespace?: string; log?: string; value?: Uint8Array; height?: string }

const NOW = '2026-01-02T03:04:05.678901234Z'
export const HASH = 'AB'.repeat(32)

export const statusOf = (height: number, chainId = CHAIN_ID, isCatchingUp = false) => ({
  result: {
    node_info: { network: chainId },
    sync_info: {
      latest_block_hash: HASH,
      latest_block_height: String(height),
      latest_block_time: NOW,
      catching_up: isCatchingUp,
    },
  },
})

export const metaOf = (height: number, chainId = CHAIN_ID) => ({
  block_id: { hash: HASH },
  header: { chain_id: chainId, height: String(height), time: NOW },
})

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex').toUpperCase()

export const txOf = (bytes: Uint8Array, height: number, changes: Record<string, unknown> = {}) => ({
  hash: sha256(bytes),
  height: String(height),
  index: 0,
  tx: Buffer.from(bytes).toString('base64'),
  tx_result: { code: 0, log: '', codespace: '', events: [{ type: 'tx', attributes: [] }] },
  ...changes,
})

/** A CometBFT node at block 50 with the given methods and queries; it records its requests. */
export async function startComet(
  methods: Record<string, Respond> = {},
  queries: Record<string, AbciResponse> = {},
) {
  function respondToQuery({ path = '', data = '', height = '0' }: Params) {
    const query = queries[path]
    const response = query
      ? query(Buffer.from(data, 'hex'), height)
      : { code: 6, codespace: 'sdk', log: 'unknown query path: unknown request' }
    const { value = new Uint8Array(), ...rest } = response
    const own = { code: 0, codespace: '', log: '', height: height === '0' ? '50' : height }
    return { result: { response: { ...own, ...rest, value: Buffer.from(value).toString('base64') } } }
  }
  return startJsonRpcNode(({ method, params }) => {
    const named = params as unknown as Params
    const response =
      methods[method]?.(named) ??
      (method === 'status' ? statusOf(50) : undefined) ??
      (method === 'abci_query' ? respondToQuery(named) : undefined)
    if (response === undefined) return { error: { code: -32601, message: 'Method not found' } }
    return 'problem' in response
      ? { error: { code: -32603, message: 'Internal error', data: response.problem } }
      : response
  })
}

export const rpcTo = (rpcUrls: readonly string[], changes: Partial<Nodes> = {}, compareMs?: number) =>
  createRpc({ name: CHAIN_ID, chainId: CHAIN_ID, rpcUrls, rpcTimeoutMs: 5_000, ...changes }, compareMs)
