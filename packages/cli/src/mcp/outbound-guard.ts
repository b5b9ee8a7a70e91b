import { lookup as systemLookup, type LookupAddress } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import { Agent, buildConnector, setGlobalDispatcher } from 'undici'
import { isPublicAddress } from './public-address'

/** A connection that was not opened, because its address is not a public one. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
}

export type Guard = {
  /** The origins that are reached wherever they are: the gateway's, which the user has chosen. */
  trustedUrls: readonly string[]
  isPrivateAllowed: boolean
  lookup?: LookupAll
}

type LookupAll = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** Of one answer, as it arrives. An answer that is longer breaks off. */
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024

/**
 * Opens connections to public addresses and to trusted origins only. The address that was checked is the one that is connected
 * to, so a name that resolves otherwise the second time changes nothing.
 */
export function createGuardedAgent({ trustedUrls, isPrivateAllowed, lookup = systemLookup }: Guard): Agent {
  const open = buildConnector({})
  const openChecked = buildConnector({ lookup: createPublicLookup(lookup) })
  const trusted = new Set(trustedUrls.map((url) => originOf(new URL(url))))
  return new Agent({
    maxResponseSize: MAX_RESPONSE_BYTES,
    connect(options, callback) {
      const { hostname, protocol, port } = options
      const address = bare(hostname)
      if (isPrivateAllowed || trusted.has(originOf({ hostname, protocol, port }))) open(options, callback)
      else if (isIP(address) !== 0 && !isPublicAddress(address)) callback(refusalOf(hostname), null)
      else openChecked(options, callback)
    },
  })
}

/** Guards every `fetch` of this process. @throws Error if this version of Node does not apply it */
export async function guardFetch(guard: Guard): Promise<{ close(): Promise<void> }> {
  const agent = createGuardedAgent(guard)
  setGlobalDispatcher(agent)
  if (!guard.isPrivateAllowed) await assertGuarded()
  return { close: () => agent.destroy() }
}

/** An address of the documentation range, where nothing answers. */
async function assertGuarded(): Promise<void> {
  const error: unknown = await fetch('http://192.0.2.1/', { signal: AbortSignal.timeout(1_000) }).catch(
    (reason: unknown) => reason,
  )
  if (!findPrivateAddress(error))
    throw new Error('This version of Node does not let requests to private addresses be refused')
}

/** The refusal within an error of `fetch` or of the SDK. */
export function findPrivateAddress(error: unknown): PrivateAddressError | undefined {
  for (let inner = error; inner instanceof Error; inner = inner.cause)
    if (inner instanceof PrivateAddressError) return inner
  return undefined
}

/** All addresses of the name must be public: which of them is connected to is not known before. */
const createPublicLookup =
  (lookup: LookupAll): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      // Without addresses then, whatever the types say.
      if (error) {
        callback(error, '', 0)
        return
      }
      const [first] = addresses
      const isRefused = !addresses.every(({ address }) => isPublicAddress(address))
      if (!first) callback(new Error(`${hostname} has no address`), '', 0)
      else if (isRefused) callback(refusalOf(hostname), '', 0)
      else if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }

const refusalOf = (hostname: string) =>
  new PrivateAddressError(`${hostname} is an address of this machine or of a private network`)

const bare = (hostname: string) => hostname.replace(/^\[|\]$/g, '')

const originOf = ({ protocol, hostname, port }: Pick<URL, 'protocol' | 'hostname' | 'port'>) =>
  `${protocol}//${bare(hostname)}:${port || (protocol === 'https:' ? '443' : '80')}`
