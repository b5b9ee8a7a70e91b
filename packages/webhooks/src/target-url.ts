import { isAllowedAddress } from '@tollgate/service'
import { isIP } from 'node:net'

/** The address of a name is checked at each delivery. Undefined if deliveries may go to the URL. */
export function findTargetProblem(text: string, isProduction: boolean): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL'
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https://'
  if (isProduction && url.protocol !== 'https:') return 'must begin with https://'
  if (url.username !== '' || url.password !== '') return 'must have no user name and password'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 && !isAllowedAddress(url, host, isProduction)) return 'must be a public address'
  return undefined
}
