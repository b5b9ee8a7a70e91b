import { isIP } from 'node:net'
import { isPublicAddress } from './public-address'

/** Names that no public DNS has: of this machine, of a cluster, of a private network. */
const INTERNAL = /(?:^|\.)(?:localhost|svc|cluster\.local|internal|local|home\.arpa)$/

/**
 * Whether the host of a URL may be public. Internal are private addresses, names without a dot, and those that end in .svc,
 * .cluster.local, .internal, .local, .localhost or .home.arpa.
 */
export function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  if (isIP(host) !== 0) return isPublicAddress(embeddedAddress(host) ?? host)
  return host.includes('.') && !INTERNAL.test(host)
}

/** Whether the URL is `http://` to a host that may be public: anyone on the way could read and change what is sent. */
export function isPlainHttpToPublicHost(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'http:' && isPublicHost(hostname)
}

/** The IPv4 address within an IPv4-mapped address or one of NAT64, as URLs spell them; undefined for any other. */
function embeddedAddress(host: string): string | undefined {
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(host) ?? []
  if (high === undefined || low === undefined) return undefined
  const parts = [high, low].map((hex) => Number.parseInt(hex, 16))
  return parts.flatMap((part) => [part >> 8, part & 0xff]).join('.')
}

export const PLAIN_HTTP_REFUSED =
  'http:// to a public host; use https://, or a private address or internal name (docs/production-mode.md)'
