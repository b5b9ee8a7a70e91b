import { Redis } from 'ioredis'
import { type BenchmarkContext } from '../benchmark'
import { openAccounts } from '../gateway/accounts'
import { type GatewayOptions, startGateway } from '../gateway/gateway'
import { generate, type GeneratorPlan, type GeneratorResult } from '../load/generate'
import { type Contender, type Load, loadByWrk, type LoadOptions } from '../load/load'
import { root } from '../machine'
import { startUpstream } from '../peers/nginx'
import { openStores } from '../stores'
import { type CallOptions, paidRequest } from './calls'

type Place = Pick<BenchmarkContext, 'folder' | 'closeLater'>

export type Rig = Awaited<ReturnType<typeof openRig>>

/** An upstream, the stores, and wallets with credits: what gateway processes need. */
export async function openRig(
  place: Place,
  { wallets, checkout = root }: { wallets: number; checkout?: string },
) {
  const [upstream, { postgres, redis }] = await Promise.all([startUpstream(place), openStores(place)])
  const redisClient = new Redis(redis.url)
  place.closeLater(() => redisClient.disconnect())
  const accounts = await openAccounts(place, { postgres, upstreamUrl: upstream.url, checkout })
  const callers = await accounts.createCallers(wallets)
  const redisCommands = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await redisClient.info('stats'))?.[1])
  let [answers, unread] = [0, 0]

  return {
    upstream,
    postgres,
    redis,
    accounts,
    callers,
    startGateway: (options: Pick<GatewayOptions, 'name' | 'checkout' | 'nodeArguments' | 'variables'> = {}) =>
      startGateway(
        place,
        { databaseUrl: accounts.databaseUrl, redisUrl: redis.url },
        { checkout, ...options },
      ),
    requests: (options?: CallOptions) => callers.map(({ token }) => paidRequest(token, options)),

    /** Loads the gateway, and counts the WAL bytes and the Redis commands of a call. `everything` is the CPU of all processes. */
    async load(contender: Contender, options: LoadOptions): Promise<Load> {
      const others = { postgres: postgres.pid, redis: redis.pid, everything: process.pid }
      const [walBytes, commands] = [await accounts.walBytes(), await redisCommands()]
      const load = await loadByWrk(contender, { ...options, others })
      answers += load.answers
      // wrk closes its connections without reading the last answers.
      unread += options.connections
      const costs = {
        walBytes: ((await accounts.walBytes()) - walBytes) / load.answers,
        redisCommands: ((await redisCommands()) - commands) / load.answers,
      }
      return { ...load, costs }
    },

    /** Calls that are all awaited. */
    async generate(plan: GeneratorPlan): Promise<GeneratorResult> {
      const result = await generate(place.folder, plan)
      answers += result.statuses['200'] ?? 0
      return result
    },

    /** @throws Error if an answered call was not charged, an unanswered one was, or an account does not add up */
    async audit() {
      const charged = await accounts.chargedCalls()
      if (charged < answers || charged > answers + unread)
        throw new Error(`${answers} calls were answered, and ${charged} charged`)
      const violations = await accounts.findViolations()
      if (violations.length > 0) throw new Error(`The accounts do not add up: ${violations.join(', ')}`)
      return { answers, charged }
    },
  }
}
