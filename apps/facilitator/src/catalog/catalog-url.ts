import { ResourceUrl } from '@tollgate/protocol'
import { isPublicAddress } from '@tollgate/service'
import { isIP } from 'node:net'

const MAX_DECODINGS = 4
const LOCAL = /(^|\.)(localhost|localdomain|local|internal)$/

/**
 * The URL under which a paid resource is cataloged: without query and fragment, and with the route template, if valid, in place
 * of the path. Undefined if the registry would refuse it, or, in production, if it is no https URL of a public host.
 */
export function catalogUrl(
  text: string,
  routeTemplate: unknown,
  { isProduction }: { isProduction: boolean },
): { resource: string; origin: string } | undefined {
  if (!ResourceUrl.safeParse(text).success || !/^https?:/i.test(text)) return undefined
  const url = new URL(text)
  if (isProduction && !(url.protocol === 'https:' && isPublicHost(url.hostname))) return undefined
  const resource = `${url.origin}${isRouteTemplate(routeTemplate) ? routeTemplate : url.pathname}`
  return ResourceUrl.safeParse(resource).success ? { resource, origin: url.origin } : undefined
}

/** A name with a dot, or a public address. */
function isPublicHost(hostname: string): boolean {
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  return isIP(host) === 0 ? host.includes('.') && !LOCAL.test(host) : isPublicAddress(host)
}

/** By the rules of the extension `bazaar`: no traversal and no scheme, also not percent-encoded. */
export function isRouteTemplate(value: unknown): value is string {
  if (typeof value !== 'string' || !/^\/[a-zA-Z0-9_/:.\-~%]+$/.test(value)) return false
  let decoded = value
  for (let times = 0; times < MAX_DECODINGS; times++) {
    if (decoded.includes('..') || decoded.includes('://') || decoded.startsWith('//')) return false
    const next = decode(decoded)
    if (next === undefined) return false
    if (next === decoded) return true
    decoded = next
  }
  return false
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
