import { memberTexts, type RpcRequest } from '@tollgate/protocol'
import { type Dispatcher } from 'undici'
import { type CallKind } from '../call-kind'
import { type Endpoint } from '../../catalog/catalog'
import { resolveUrl } from '../resource-path'

export type UpstreamRequest = Pick<RpcRequest, 'resource' | 'method' | 'transport'> & {
  kind: CallKind
  /** Byte for byte as the caller sent it; empty once it is released. */
  payload: Buffer
  accept: string | undefined
  acceptEncoding: string | undefined
  /** A node of a Cosmos chain answers from the state at this height; its default is the latest. */
  blockHeight?: string | undefined
}

/** Few headers of the caller are passed on, and those of the catalog win; `traceparent` is our own. */
export function buildRequest(
  endpoint: Pick<Endpoint, 'url' | 'headers' | 'secrets'>,
  outgoing: UpstreamRequest,
  traceparent?: string,
): Dispatcher.DispatchOptions {
  const { resource, method, payload, accept, acceptEncoding, blockHeight } = outgoing
  const { origin, pathname, search } = resolveUrl(endpoint.url, resource)
  const headers: Record<string, string> = { accept: accept ?? '*/*', 'user-agent': 'tollgate' }
  // The answers of providers with secrets are searched for them.
  if (endpoint.secrets.length > 0) headers['accept-encoding'] = 'identity'
  else if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding
  if (blockHeight !== undefined) headers['x-cosmos-block-height'] = blockHeight
  if (traceparent !== undefined) headers.traceparent = traceparent
  if (method === 'POST') headers['content-type'] = 'application/json'
  return {
    origin,
    path: pathname + (method === 'POST' ? search : withQueryParameters(search, payload.toString())),
    method,
    headers: { ...headers, ...endpoint.headers },
    body: method === 'POST' ? payload : null,
  }
}

/** Strings are unquoted; numbers, lists and objects keep their JSON text, to the last digit. */
function withQueryParameters(search: string, payloadText: string): string {
  const query = new URLSearchParams()
  for (const [name, text] of memberTexts(payloadText))
    query.append(name, text.startsWith('"') ? (JSON.parse(text) as string) : text)
  const parts = [search.slice(1), query.toString()].filter((part) => part !== '')
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}
