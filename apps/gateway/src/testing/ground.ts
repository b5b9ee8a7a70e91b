import { openEphemeralStore } from '@tollgate/service'
import { randomUUID } from 'node:crypto'
import { planOf, providerOf } from './catalog'
import { createClock } from './clock'
import { closeLater } from './closing'
import { migratedDatabase } from './database'
import { startFacilitator } from './facilitator'
import { readableLog } from './log'
import { answers, startUpstream } from './upstream'

export type Ground = Awaited<ReturnType<typeof openGround>>

/** What the replicas of one gateway share: database, store, facilitator, upstream, catalog and time. */
export async function openGround({ inProcess }: { inProcess: boolean }) {
  const clock = createClock()
  const upstream = await startUpstream(answers.result())
  const store = await openEphemeralStore({
    redisUrl: inProcess ? undefined : process.env.TEST_REDIS_URL,
    prefix: `${randomUUID()}:`,
    logger: readableLog().logger,
    now: clock.now,
  })
  closeLater(() => store.close())
  return {
    databaseUrl: await migratedDatabase(),
    facilitator: await startFacilitator(),
    upstream,
    store,
    clock,
    catalog: {
      plans: [planOf()],
      providers: [providerOf({ chain_id: '84532', rpc: [upstream.url], rest: [upstream.url] })],
    },
  }
}
