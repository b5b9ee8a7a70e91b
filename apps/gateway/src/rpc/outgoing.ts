import { memberTexts, type RpcRequest } from '@tollgate/protocol'
import { type Dispatcher } from 'undici'
import { type Kind } from './methods'
import { addressBelow } from './resource'

/** A call on its way out: what goes upstream is taken from it and from nothing else. */
export type Outgoing = Pick<RpcRequest, 'resource' | 'method' | 'transport'> & {
  kind: Kind
  /** As the caller wrote it, to the byte. Of all that came with the call, only this is kept until it is answered. */
  payload: Buffer
  accept: string | undefined
  acceptEncoding: string | undefined
}

/** The request that a call is at one upstream. */
export function requestTo(baseUrl: string, outgoing: Outgoing): Dispatcher.DispatchOptions {
  const { resource, method, payload, accept, acceptEncoding } = outgoing
  const address = addressBelow(baseUrl, resource)
  const headers: Record<string, string> = { accept: accept ?? '*/*', 'user-agent': 'tollgate' }
  if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding
  if (method === 'POST') headers['content-type'] = 'application/json'
  else address.search = withMembers(address.search, payload.toString())
  return {
    origin: address.origin,
    path: address.pathname + address.search,
    method,
    headers,
    body: method === 'POST' ? payload : null,
  }
}

/** Texts go as what they say; numbers, lists and objects as they were written, to the last digit. */
function withMembers(search: string, payloadText: string): string {
  const query = new URLSearchParams()
  for (const [name, text] of memberTexts(payloadText))
    query.append(name, text.startsWith('"') ? (JSON.parse(text) as string) : text)
  return [search.slice(1), query.toString()].filter((part) => part !== '').join('&')
}
