import { type Provider } from './catalog'
import { type Upstream } from './secrets/resolve-access'
import { obviousKeysIn } from './secrets/obvious-key'
import { caip2 } from '@tollgate/protocol'
import { referencesIn } from './secrets/secret-references'

const isOpen =
  (hasHeaders: boolean) =>
  ({ text }: Upstream) =>
    !hasHeaders && referencesIn(text).length === 0 && obviousKeysIn(text).length === 0

/**
 * The base URLs of a provider that everyone may see. Where one needs a secret, the gateway's own plain URL of the chain stands
 * in its place, which serves the same calls.
 */
export function publicUrlsOf(provider: Provider, transport: 'rpc' | 'rest', publicUrl: string): string[] {
  const { category: ecosystem, chainId, headers } = provider
  const own = `${publicUrl}/v1/${caip2({ ecosystem, chainId })}${transport === 'rest' ? '/rest' : ''}`
  const isShown = isOpen(Object.keys(headers).length > 0)
  return [...new Set(provider[transport].map((upstream) => (isShown(upstream) ? upstream.text : own)))]
}
