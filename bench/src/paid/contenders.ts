import { type BenchmarkContext } from '../benchmark'
import { openAccounts, SECRET } from '../gateway/accounts'
import { type Contender } from '../load/load'
import { ERPC_PATH, startErpc } from '../peers/erpc'
import { startNginxProxy } from '../peers/nginx'
import { startBareProxy, startConventionalStack } from '../peers/node-peer'
import { type MissingPeer, type Peer } from '../peers/peer'
import { paidRequest, rpcRequest } from './calls'
import { type Rig } from './rig'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater' | 'progress'>

const proxied = (peer: Peer, path = '/'): Contender => ({ ...peer, requests: [{ ...rpcRequest, path }] })

export const openBareProxy = async (place: Place, { upstream }: Rig): Promise<Contender> =>
  proxied(await startBareProxy(place, upstream.url))

export const openNginx = async (place: Place, { upstream }: Rig): Promise<Contender> =>
  proxied(await startNginxProxy(place, [upstream.url]))

export async function openErpc(place: Place, { upstream }: Rig): Promise<Contender | MissingPeer> {
  const erpc = await startErpc(place, upstream.url)
  return 'missing' in erpc ? erpc : proxied(erpc, ERPC_PATH)
}

/** On a database of its own, with as many wallets. */
export async function openConventionalStack(place: Place, rig: Rig): Promise<Contender> {
  const { postgres, upstream } = rig
  const accounts = await openAccounts(place, { postgres, name: 'conventional', upstreamUrl: upstream.url })
  const callers = await accounts.createCallers(rig.callers.length)
  const { databaseUrl } = accounts
  const stack = await startConventionalStack(place, {
    databaseUrl,
    secret: SECRET,
    upstreamUrl: upstream.url,
  })
  return { ...stack, requests: callers.map(({ token }) => paidRequest(token)) }
}
