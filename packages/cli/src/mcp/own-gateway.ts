import { promises as dns } from 'node:dns'
import { BlockList, isIP } from 'node:net'
import { networkInterfaces } from 'node:os'
import { hasDotSegments } from '../dot-segments'
import { isPublicAddress } from './public-address'

/** The addresses of a name; empty if it has none. */
type Resolve = (hostname: string) => Promise<readonly string[]>

const resolveBySystem: Resolve = async (hostname) => {
  const found = await dns.lookup(hostname, { all: true }).catch(() => [])
  return found.map(({ address }) => address)
}

/** What an agent may ask of the gateway itself by URL: its calls, and nothing of the account, whatever the server is called. */
export function createOwnGateway(gatewayUrl: string, resolve: Resolve = resolveBySystem) {
  const gateway = new URL(gatewayUrl)
  const callsBelow = `${gateway.pathname.replace(/\/+$/, '')}/v1/`

  async function isServer(url: URL): Promise<boolean> {
    if (portOf(url) !== portOf(gateway)) return false
    const [host, ownHost] = [hostOf(url), hostOf(gateway)]
    if (host === ownHost) return true
    const [addresses, own] = await Promise.all([addressesOf(host), addressesOf(ownHost)])
    if (addresses.some(isOfMachine) && own.some(isOfMachine)) return true
    // Names may share a public address, of a proxy for many servers.
    const isNamed = isIP(host) === 0 && isIP(ownHost) === 0
    return addresses.some((address) => own.includes(address) && !(isNamed && isPublicAddress(address)))
  }

  const addressesOf = async (host: string): Promise<string[]> => {
    if (isIP(host) !== 0) return [unmapped(host)]
    if (host === 'localhost' || host.endsWith('.localhost')) return ['127.0.0.1']
    return (await resolve(host)).map(unmapped)
  }

  return {
    /** Whether a URL is of another server, or of a call. */
    async allows(url: URL): Promise<boolean> {
      const isCall = url.pathname.startsWith(callsBelow) && !hasDotSegments(url.pathname)
      return isCall || !(await isServer(url))
    },
  }
}

/** The default ports of http and https count as one: a server that has both has them for the same site. */
const portOf = ({ port }: URL) => (port === '' || port === '80' || port === '443' ? 'default' : port)

const hostOf = ({ hostname }: URL) => hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '')

/** An IPv4 address that is written as IPv6, as URLs write it: `::ffff:7f00:1`. */
function unmapped(address: string): string {
  const [, high = '', low = ''] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(address) ?? []
  if (high === '') return address.replace(/^::ffff:(?=\d+\.)/i, '')
  const bits = Number.parseInt(high, 16) * 0x1_0000 + Number.parseInt(low, 16)
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 0xff).join('.')
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('0.0.0.0', 'ipv4')
loopback.addAddress('::1', 'ipv6')
loopback.addAddress('::', 'ipv6')

const isOfMachine = (address: string): boolean =>
  loopback.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4') ||
  Object.values(networkInterfaces()).some((own = []) => own.some((found) => found.address === address))
