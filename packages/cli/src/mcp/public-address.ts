import { BlockList, isIP } from 'node:net'

/**
 * The special-purpose ranges of RFC 6890 and its registries: loopback, private, link-local, shared, documentation, multicast; and the
 * address of Azure's platform, which is none of them.
 */
const specialV4 = [
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 168.63.129.16/32 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24',
  '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
]
/** Within 2000::/3. 2002::/16 and Teredo, in 2001::/23, contain IPv4 addresses. */
const specialV6 = ['2001::/23 2001:db8::/32 2002::/16 3fff::/20']

const special = blockListOf(specialV4, 'ipv4')
const specialGlobal = blockListOf(specialV6, 'ipv6')
const global = blockListOf(['2000::/3'], 'ipv6')

/** Whether an IP address is one of the public Internet. IPv4 within IPv6 is not. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !special.check(address, 'ipv4')
  return version === 6 && global.check(address, 'ipv6') && !specialGlobal.check(address, 'ipv6')
}

function blockListOf(ranges: readonly string[], family: 'ipv4' | 'ipv6'): BlockList {
  const list = new BlockList()
  for (const range of ranges.flatMap((text) => text.split(' '))) {
    const [network = '', prefix] = range.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
