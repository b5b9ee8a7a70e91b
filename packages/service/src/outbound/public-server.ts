import { isWeakPassword } from '../weak-secret'
import { isPublicHost } from './plain-http'

/**
 * What is wrong with a Postgres or Redis at a host that may be public, by its URL, for a service in production; undefined if nothing is.
 * Internal servers are as safe as their network.
 */
export function problemOfServer(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined
  const url = new URL(text)
  const { protocol, searchParams } = url
  const isRedis = /^rediss?:$/.test(protocol)
  // node-postgres takes the parameters before the parts of the URL.
  const ofPostgres = (name: string) => (isRedis ? undefined : (searchParams.get(name) ?? undefined))
  if (!isPublicServer(ofPostgres('host') ?? url.hostname)) return undefined
  if (protocol === 'redis:')
    return 'redis:// to a public host; use rediss://, or a private address or internal name'
  const password = ofPostgres('password') ?? decoded(url.password)
  if (password === '')
    return ofPostgres('sslcert') === undefined ? `has no password for a public host; ${INSTEAD}` : undefined
  return isWeakPassword(password)
    ? `has a password that is easy to guess, for a public host; ${INSTEAD}`
    : undefined
}

const INSTEAD = 'set one that `openssl rand -hex 32` makes'

/** Spelled as in a URL of http, which has one spelling for each address. A socket of this machine is a path. */
function isPublicServer(name: string): boolean {
  const host = decoded(name)
  if (host.startsWith('/')) return false
  const likeHttp = `http://${host}`
  return isPublicHost(URL.canParse(likeHttp) ? new URL(likeHttp).hostname : host.toLowerCase())
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
