import { type Contender, type Load, loadByWrk, type LoadOptions } from '../load/load'
import { type Stores } from './stores'

export type PaidLoad = Load & { walBytesPerCall: number; redisCommandsPerCall: number }

/** Loads the gateway, and counts what each call costs the stores. */
export async function loadGateway(
  stores: Stores,
  contender: Contender,
  options: LoadOptions,
): Promise<PaidLoad> {
  const others = { postgres: stores.postgres.pid, redis: stores.redis.pid }
  const [walBytes, commands] = [await stores.walBytes(), await stores.redisCommands()]
  const load = await loadByWrk(contender, { ...options, others })
  return {
    ...load,
    walBytesPerCall: ((await stores.walBytes()) - walBytes) / load.answers,
    redisCommandsPerCall: ((await stores.redisCommands()) - commands) / load.answers,
  }
}
