import { openEphemeralStore, type EphemeralStoreOptions } from '@tollgate/service'
import { closeLater, migratedDatabase } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import { planOf, providerOf, type CatalogEntries } from './catalog'
import { createClock } from './clock'
import { startFacilitator } from './facilitator'
import { readableLog } from './log'
import { answers, startUpstream } from './upstream'

export type Infrastructure = Awaited<ReturnType<typeof openInfrastructure>>

export async function openInfrastructure({ inProcess }: { inProcess: boolean }) {
  const clock = createClock()
  const upstream = await startUpstream(answers.result())
  const redisUrl = inProcess ? undefined : process.env.TEST_REDIS_URL
  const store = await openStore({ redisUrl, logger: readableLog().logger, now: clock.now })
  const catalog: CatalogEntries = {
    plans: [planOf()],
    providers: [providerOf({ chain_id: '84532', rpc: [upstream.url], rest: [upstream.url] })],
  }
  return {
    databaseUrl: await migratedDatabase('gateway'),
    facilitator: await startFacilitator(),
    upstream,
    store,
    clock,
    catalog,
  }
}

export async function openStore(options: EphemeralStoreOptions) {
  const store = await openEphemeralStore({ ...options, prefix: `${randomUUID()}:` })
  closeLater(() => store.close())
  return store
}
