import { type LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'

export type Resolve = (hostname: string) => Promise<LookupAddress[]>

const TIMEOUT_MS = 2_000
const TRIES = 2
const LOCALHOST: LookupAddress[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
]

/**
 * Asks the name servers without the thread pool, which names that are resolved slowly would occupy (`dns.lookup`). `localhost` is this
 * machine (RFC 6761, 6.3).
 *
 * @throws if no address is found
 */
export const resolveByDns: Resolve = async (hostname) => {
  if (hostname === 'localhost' || hostname.endsWith('.localhost')) return LOCALHOST
  const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
  const found = await Promise.allSettled([
    resolver.resolve4(hostname).then((all) => all.map((address) => ({ address, family: 4 }))),
    resolver.resolve6(hostname).then((all) => all.map((address) => ({ address, family: 6 }))),
  ])
  const addresses = found.flatMap((each) => (each.status === 'fulfilled' ? each.value : []))
  if (addresses.length > 0) return addresses
  throw new Error('The name has no address', {
    cause: found[0].status === 'rejected' ? found[0].reason : undefined,
  })
}
