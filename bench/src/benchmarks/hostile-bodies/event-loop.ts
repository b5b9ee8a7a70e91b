import { median } from '../../rounds'
import { honestCall, hostileBodies } from './bodies'
import { type Gateway } from './gateway'
import { post } from './post'

const WARM_UP_CALLS = 50
/** Of each body. */
const WARM_UP_ROUNDS = 2

export type BodyCost = { name: string; leastMs: number; medianMs: number; status: number }

/**
 * The event loop time of each body, sent one at a time by a wallet without credits. The least counts, because other work of
 * the machine only adds to it.
 */
export async function costOfBodies(gateway: Gateway, rounds: number): Promise<BodyCost[]> {
  const token = await gateway.signIn(0)
  for (let call = 0; call < WARM_UP_CALLS; call++) await post(gateway, token, honestCall)
  const costs: BodyCost[] = []
  for (const [name, body] of [
    ...Object.entries(hostileBodies),
    ['a call of 200 bytes', honestCall] as const,
  ]) {
    const times: number[] = []
    let status = 0
    for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
      const before = await gateway.probe()
      status = await post(gateway, token, body)
      const after = await gateway.probe()
      if (round >= 0) times.push(after.activeMs - before.activeMs)
    }
    costs.push({ name, leastMs: Math.min(...times), medianMs: median(times), status })
  }
  return costs
}
