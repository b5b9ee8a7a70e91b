import { setTimeout as delay } from 'node:timers/promises'
import { newCustomer } from '../testing/customers'
import { call } from '../testing/paying'
import { type World } from '../testing/world'
import { metricsIn, type ExportedMetric } from './exported-metrics'

/** Buys credits and makes a call, so that every metric of money and calls has a series. Then reads both services' metrics. */
export async function exercise(world: World): Promise<Record<'gateway' | 'facilitator', ExportedMetric[]>> {
  const { session, pay } = await newCustomer(world, world.plan)
  const asked = await call(world, session.token)
  const paid = await call(world, session.token, await pay(asked.body))
  if (asked.status !== 402 || paid.status !== 200) throw new Error(`The call was answered ${paid.status}`)
  // Monitors read the database and the nodes once in a while, the first time at once.
  for (;;) {
    const [gateway = '', facilitator = ''] = await Promise.all(
      [world.gateway, world.facilitator].map(async ({ metricsUrl }) => (await fetch(metricsUrl)).text()),
    )
    const isComplete =
      gateway.includes('tollgate_payments_open{') &&
      facilitator.includes('tollgate_settlements_open{') &&
      facilitator.includes('tollgate_signer_balance{') &&
      facilitator.includes('tollgate_assets_suspended{')
    if (isComplete) return { gateway: metricsIn(gateway), facilitator: metricsIn(facilitator) }
    await delay(100)
  }
}
