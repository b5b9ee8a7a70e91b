import { isSecret } from '../keys/access-key'

/** What a plain URL names. `resource`: the rest of the path and the query, as they came. */
export type PlainUrl = {
  chain: string
  secret: string | undefined
  transport: 'rpc' | 'rest'
  resource: string
}

/**
 * Parses `/v1/{chain}`, `/v1/{chain}/{method}` and `/v1/{chain}/rest/{path}`, each also with an access key after the chain. The
 * path is not decoded: it goes to the node as it came.
 *
 * @throws URIError for a chain that is not properly percent-encoded
 */
export function parsePlainUrl(url: string): PlainUrl {
  const [path = '', ...query] = url.split('?')
  const [, , chain = '', ...segments] = path.split('/')
  const secret = segments[0] !== undefined && isSecret(segments[0]) ? segments.shift() : undefined
  const transport = segments[0] === 'rest' ? 'rest' : 'rpc'
  if (transport === 'rest') segments.shift()
  const rest = segments.join('/')
  const search = query.length > 0 ? `?${query.join('?')}` : ''
  return {
    chain: decodeURIComponent(chain),
    secret,
    transport,
    resource: `${rest === '' ? '' : '/'}${rest}${search}`,
  }
}
