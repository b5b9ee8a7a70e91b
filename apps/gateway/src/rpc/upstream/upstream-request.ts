import { memberTexts, type RpcRequest } from '@tollgate/protocol'
import { type Dispatcher } from 'undici'
import { type CallKind } from '../call-kind'
import { resolveUrl } from '../resource-path'

export type UpstreamRequest = Pick<RpcRequest, 'resource' | 'method' | 'transport'> & {
  kind: CallKind
  /** Byte for byte as the caller sent it; empty once it is released. */
  payload: () => Buffer
  accept: string | undefined
  acceptEncoding: string | undefined
}

export function buildRequest(baseUrl: string, outgoing: UpstreamRequest): Dispatcher.DispatchOptions {
  const { resource, method, accept, acceptEncoding } = outgoing
  const payload = outgoing.payload()
  const address = resolveUrl(baseUrl, resource)
  const headers: Record<string, string> = { accept: accept ?? '*/*', 'user-agent': 'tollgate' }
  if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding
  if (method === 'POST') headers['content-type'] = 'application/json'
  else address.search = withQueryParameters(address.search, payload.toString())
  return {
    origin: address.origin,
    path: address.pathname + address.search,
    method,
    headers,
    body: method === 'POST' ? payload : null,
  }
}

/** Strings are unquoted; numbers, lists and objects keep their JSON text, to the last digit. */
function withQueryParameters(search: string, payloadText: string): string {
  const query = new URLSearchParams()
  for (const [name, text] of memberTexts(payloadText))
    query.append(name, text.startsWith('"') ? (JSON.parse(text) as string) : text)
  return [search.slice(1), query.toString()].filter((part) => part !== '').join('&')
}
