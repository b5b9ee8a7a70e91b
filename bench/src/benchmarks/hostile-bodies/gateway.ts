import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { request } from 'undici'
import { type BenchmarkContext } from '../../benchmark'
import { startBlockNumberUpstream } from '../../block-number-upstream'
import { openAccounts } from '../../gateway/accounts'
import { startGateway } from '../../gateway/gateway'
import { openStores } from '../../stores'

const LOOP_PROBE = join(__dirname, '../../preload/loop-probe.js')

type Probe = { activeMs: number; longestMs: number; rssBytes: number }
export type Gateway = Awaited<ReturnType<typeof openGateway>>

/** A gateway on stores and an upstream of its own, with a probe in its process, and wallets with sessions. */
export async function openGateway(
  place: Pick<BenchmarkContext, 'folder' | 'closeLater'>,
  limits: Readonly<Record<string, string>>,
) {
  const { postgres, redis } = await openStores(place)
  const upstreamUrl = await startBlockNumberUpstream(place)
  const { databaseUrl, createCaller } = await openAccounts(place, { postgres, upstreamUrl })
  const stores = { databaseUrl, redisUrl: redis.url }
  const gateway = await startGateway(place, stores, { nodeArguments: ['--require', LOOP_PROBE], limits })
  const probePort = /"loopProbe":(\d+)/.exec(readFileSync(gateway.logFile, 'utf8'))?.[1]
  if (probePort === undefined) throw new Error('The gateway did not log the port of its probe')

  return {
    url: gateway.url,
    probe: async () => (await (await request(`http://127.0.0.1:${probePort}`)).body.json()) as Probe,
    /** The token of a new wallet. */
    signIn: async (credits: number): Promise<string> => (await createCaller(credits)).token,
  }
}
