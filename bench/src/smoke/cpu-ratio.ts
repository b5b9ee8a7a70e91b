import { type BenchmarkContext } from '../benchmark'
import { openAccounts } from '../gateway/accounts'
import { startGateway } from '../gateway/gateway'
import { addressedTo, generate } from '../load/generate'
import { type AddressedRequest } from '../load/request'
import { paidRequest, rpcRequest } from '../paid/calls'
import { startBareProxy, startNodeUpstream } from '../peers/node-peer'
import { type Peer } from '../peers/peer'
import { threadCpuSeconds } from '../processes'
import { median } from '../rounds'
import { type Postgres } from '../stores'

const CONNECTIONS = 64
const WALLETS = 16
const ROUNDS = 9
/** Of each contender, in each round. */
const CALLS = 1_000
const WARM_UP_CALLS = 5_000

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater' | 'progress'>
type Stores = { postgres: Pick<Postgres, 'createDatabase'>; redisUrl: string | undefined }
type Cpu = { gateway: number; bare: number }
export type CpuRatio = Cpu & { ratio: number; ratios: number[] }

/**
 * The CPU seconds of the bare proxy for 1,000 calls, the gateway's, and their ratio. Both are loaded at the same time with
 * alternating calls, so that other work of the machine affects both alike.
 */
export async function measureCpuRatio(place: Place, { postgres, redisUrl }: Stores): Promise<CpuRatio> {
  const upstream = await startNodeUpstream(place)
  const accounts = await openAccounts(place, { postgres, upstreamUrl: upstream.url })
  const callers = await accounts.createCallers(WALLETS)
  const gateway = await startGateway(place, { databaseUrl: accounts.databaseUrl, redisUrl })
  const bare = await startBareProxy(place, upstream.url)
  const requests = callers.flatMap(({ token }) => [
    ...addressedTo(gateway.url, [paidRequest(token)]),
    ...addressedTo(bare.url, [rpcRequest]),
  ])

  await load(place, requests, WARM_UP_CALLS)
  const samples: Cpu[] = []
  for (let round = 1; round <= ROUNDS; round++) {
    const before = { gateway: cpuOf(gateway), bare: cpuOf(bare) }
    await load(place, requests, CALLS)
    const sample = {
      gateway: (1000 * (cpuOf(gateway) - before.gateway)) / CALLS,
      bare: (1000 * (cpuOf(bare) - before.bare)) / CALLS,
    }
    samples.push(sample)
    place.progress(
      `round ${round} of ${ROUNDS}: gateway ${sample.gateway.toFixed(3)}, bare proxy ${sample.bare.toFixed(3)} CPU s per 1,000 calls`,
    )
  }
  const ratios = samples.map((sample) => sample.bare / sample.gateway)
  return {
    gateway: median(samples.map((sample) => sample.gateway)),
    bare: median(samples.map((sample) => sample.bare)),
    ratio: median(ratios),
    ratios,
  }
}

const cpuOf = ({ pids }: Peer) => pids.reduce((sum, pid) => sum + threadCpuSeconds(pid), 0)

/** @throws Error if an answer is not 200 */
async function load({ folder }: Place, requests: readonly AddressedRequest[], calls: number) {
  const { statuses } = await generate(folder, {
    requests,
    connections: CONNECTIONS,
    until: { calls: 2 * calls },
  })
  if (Object.keys(statuses).join() !== '200')
    throw new Error(`The calls ended with ${JSON.stringify(statuses)}`)
}
