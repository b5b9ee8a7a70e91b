import { families } from '@tollgate/chains'
import { isObject } from './find-refusal'
import { parseJson } from './parse-json'
import { type UpstreamRequest } from './upstream-request'

/** A transaction that a call sends. `form`: how the node answers that it took it. */
export type SentTransaction = { form: 'evm' | 'comet' | 'rest'; id: unknown; hash: string }

/** The transactions of a call, of which an answer can be made again from their hash alone; `broadcast_tx_commit` has more in it. */
export function sentTransactionsOf({
  transport,
  method,
  resource,
  payload,
}: UpstreamRequest): SentTransaction[] {
  const body = parseJson(payload.toString())
  if (transport === 'rest') return restTransactions(resource, body)
  if (method === 'GET') return uriTransactions(resource, body)
  return [body].flat().flatMap((entry) => (isObject(entry) ? entryTransactions(entry) : []))
}

function entryTransactions({ id, method, params }: Record<string, unknown>): SentTransaction[] {
  const [first] = Array.isArray(params) ? (params as unknown[]) : isObject(params) ? [params.tx] : []
  if (typeof first !== 'string') return []
  if (method === 'eth_sendRawTransaction') {
    const raw = bytesOfHex(first)
    return hashed('evm', id, raw)
  }
  if (!isBroadcast(method)) return []
  return hashed('comet', id, bytesOfBase64(first))
}

/** CometBFT takes bytes in a URI as hex, or as text in quotes. */
function uriTransactions(resource: string, body: unknown): SentTransaction[] {
  const [path = '', query = ''] = resource.split('?', 2)
  if (!isBroadcast(path.split('/').findLast((part) => part !== ''))) return []
  const member = isObject(body) ? body.tx : undefined
  const tx = (typeof member === 'string' ? member : new URLSearchParams(query).get('tx')) ?? ''
  const text = /^"(.*)"$/s.exec(tx)?.[1]
  return hashed('comet', undefined, text === undefined ? bytesOfHex(tx) : Buffer.from(text))
}

function restTransactions(resource: string, body: unknown): SentTransaction[] {
  if (!/^\/?cosmos\/tx\/v1beta1\/txs\/?$/.test(resource) || !isObject(body)) return []
  return typeof body.tx_bytes === 'string' ? hashed('rest', undefined, bytesOfBase64(body.tx_bytes)) : []
}

const isBroadcast = (method: unknown) => method === 'broadcast_tx_sync' || method === 'broadcast_tx_async'

function hashed(form: SentTransaction['form'], id: unknown, raw: Buffer | undefined): SentTransaction[] {
  if (!raw || raw.length === 0) return []
  const hash = families[form === 'evm' ? 'evm' : 'cosmos']?.transactionHash(raw)
  return hash === undefined ? [] : [{ form, id, hash }]
}

const bytesOfHex = (text: string) =>
  /^0x([0-9a-f]{2})+$/i.test(text) ? Buffer.from(text.slice(2), 'hex') : undefined

/** Base64 and base64url, as the JSON of Protobuf allows both. */
const bytesOfBase64 = (text: string) =>
  /^[\w+/-]+={0,2}$/.test(text) ? Buffer.from(text, 'base64') : undefined
