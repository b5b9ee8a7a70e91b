import { isIP } from 'node:net'
import { isPublicAddress } from './public-address'

/** Names that no public DNS has: of this machine, of a cluster, of a private network. */
const INTERNAL = /(?:^|\.)(?:localhost|svc|cluster\.local|internal|local|home\.arpa)$/

/**
 * Whether the URL is `http://` to a host that may be public: anyone on the way could read and change what is sent. Internal are private
 * addresses, names without a dot, and those that end in .svc, .cluster.local, .internal, .local, .localhost or .home.arpa.
 */
export function isPlainHttpToPublicHost(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  if (protocol !== 'http:') return false
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (isIP(host) !== 0) return isPublicAddress(host)
  return host.includes('.') && !INTERNAL.test(host)
}

export const PLAIN_HTTP_REFUSED =
  'http:// to a public host; use https://, or a private address or internal name (docs/production-mode.md)'
