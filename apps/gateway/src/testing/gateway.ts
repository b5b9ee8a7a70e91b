import { openGatewayDatabase } from '@tollgate/database'
import { createFacilitatorClient } from '@tollgate/facilitator-client'
import {
  closeServer,
  createMetrics,
  createServer,
  listen,
  openTracing,
  type Metrics,
} from '@tollgate/service'
import { closeAll, closeLater } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import supertest from 'supertest'
import { applyCatalog } from '../catalog/apply'
import { providerRows } from '../catalog/rows'
import { readConfiguration, type Environment } from '../config'
import { composeGateway } from '../gateway'
import { MAX_HEADER_BYTES } from '../payments/payment-header'
import { startReconciler } from '../payments/reconciler'
import { findViolations, fund } from './accounts'
import { catalogOf, providerOf } from './catalog'
import { clientKey } from './facilitator'
import { openInfrastructure, openStore, type Infrastructure } from './infrastructure'
import { createCosmosWallet } from './cosmos-wallet'
import { readableLog } from './log'
import { createWallet } from './wallet'

export type TestGateway = Awaited<ReturnType<typeof testGateway>>

/** Must exceed the catalog cache's maximum age. */
const CATALOG_SECONDS = 2

type Options = {
  environment?: Partial<Environment>
  beside?: { infrastructure: Infrastructure }
  /** Keeps nonces in the process, even with Redis, so that the test's clock expires them. */
  inProcess?: boolean
  redisUrl?: string
  settleTimeoutMs?: number
  metrics?: Metrics
  /** The secrets of the catalog are read from these. */
  variables?: NodeJS.ProcessEnv
}

/**
 * A gateway on a free port: plan 1 is on Base Sepolia, and calls to chain 84532 go to an upstream that returns `0x1`. Heartbeat
 * and reconciler do not run by themselves.
 */
export async function testGateway(options: Options = {}) {
  const { beside, inProcess = false, settleTimeoutMs = 10_000 } = options
  const infrastructure = beside?.infrastructure ?? (await openInfrastructure({ inProcess }))
  const { databaseUrl, facilitator, clock, catalog } = infrastructure
  const log = readableLog()
  const { logger } = log
  const store = options.redisUrl
    ? await openStore({ redisUrl: options.redisUrl, logger })
    : infrastructure.store

  const environment = {
    ...readConfiguration({
      NODE_ENV: 'test',
      PUBLIC_URL: 'https://gateway.example',
      DATABASE_URL: databaseUrl,
      JWT_SECRET: 'a secret of this test run and no other',
      SIGN_IN_DOMAINS: 'Tollgate,gateway.example',
      FACILITATOR_URL: facilitator.url,
      FACILITATOR_CLIENT_ID: clientKey.id,
      FACILITATOR_CLIENT_TOKEN: clientKey.token,
      RATE_LIMIT_AUTH_PER_MINUTE: '100000',
      RATE_LIMIT_RPC_PER_MINUTE: '100000',
      RATE_LIMIT_READS_PER_MINUTE: '100000',
      FREE_TIMEOUTS_PER_MINUTE: '100000',
      FREE_REFUSALS_PER_MINUTE: '100000',
      FREE_UNKNOWN_METHODS_PER_MINUTE: '100000',
      RATE_LIMIT_PAYMENTS_PER_MINUTE: '10000',
      FACILITATOR_REQUESTS_PER_MINUTE: '100000',
      RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: '100000',
    }),
    ...options.environment,
  }
  const database = openGatewayDatabase({ url: databaseUrl, poolSize: environment.DATABASE_POOL_SIZE })
  closeLater(() => database.close())
  const client = createFacilitatorClient({
    url: environment.FACILITATOR_URL,
    clientId: environment.FACILITATOR_CLIENT_ID,
    clientToken: environment.FACILITATOR_CLIENT_TOKEN,
    settleTimeoutMs,
  })
  closeLater(() => client.close())
  const tracing = await openTracing(environment, { service: 'gateway', logger })
  closeLater(() => tracing.close())
  const gateway = composeGateway({
    environment,
    variables: options.variables ?? {},
    database,
    store,
    facilitator: client,
    logger,
    metrics: options.metrics ?? createMetrics(),
    tracing,
    now: clock.now,
  })
  closeLater(() => gateway.upstreams.close())
  closeLater(() => gateway.ledger.drain())

  const server = createServer(gateway.app, { maxHeaderBytes: MAX_HEADER_BYTES })
  const { port } = await listen(server, { port: 0, host: '127.0.0.1' })
  closeLater(() => closeServer(server, { graceSeconds: 0 }))
  const url = `http://127.0.0.1:${port}`
  const api = supertest(url)

  async function reapply() {
    await applyCatalog(database, catalogOf(catalog))
    clock.advance(CATALOG_SECONDS)
  }
  if (!beside) await reapply()

  return {
    ...infrastructure,
    ...gateway,
    infrastructure,
    url,
    api,
    pool: database.pool,
    database,
    log,
    reapply,
    wallet: () => createWallet({ api, clock }),
    cosmosWallet: (options?: Parameters<typeof createCosmosWallet>[1]) =>
      createCosmosWallet({ api, clock }, options),
    fund: (address: string, credits: number, planId = 1) =>
      fund({ pool: database.pool, ledger: gateway.ledger }, address, credits, planId),

    /** Adds a chain with these providers, or with one provider that has these base URLs, and returns its id. */
    async chain(...providers: (string | Omit<Parameters<typeof providerOf>[0], 'chain_id'>)[]) {
      const chain_id = randomUUID()
      const urls = providers.filter((provider) => typeof provider === 'string')
      const others = providers.filter((provider) => typeof provider !== 'string')
      if (urls.length > 0) others.unshift({ rpc: urls, rest: urls })
      const added = others.map((provider, index) =>
        providerOf({ provider_id: `provider-${index}`, ...provider, chain_id }),
      )
      catalog.providers.push(...added)
      await database.prisma.provider.createMany({
        data: providerRows(catalogOf({ plans: [], providers: added }).providers),
      })
      clock.advance(CATALOG_SECONDS)
      return chain_id
    },

    async reconcile() {
      await startReconciler({ settlements: gateway.settlements, processor: gateway.processor, logger }).stop()
    },
  }
}

/** Closes everything, once the ledger that these replicas share has passed the audit. */
export async function auditAndClose(gateway: TestGateway, ...replicas: TestGateway[]) {
  await Promise.all([gateway, ...replicas].map(({ ledger }) => ledger.drain()))
  expect(await findViolations(gateway.pool)).toEqual([])
  await closeAll()
}
