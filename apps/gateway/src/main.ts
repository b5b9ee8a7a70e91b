import { curveIsNative } from '@tollgate/chains'
import { openGatewayDatabase, waitForDatabase } from '@tollgate/database'
import { createFacilitatorClient } from '@tollgate/facilitator-client'
import { withTimeout } from '@tollgate/protocol'
import {
  activeTraceId,
  createLogger,
  createMetrics,
  exportPool,
  openEphemeralStore,
  openTracing,
  run,
  startRetention,
  startServers,
} from '@tollgate/service'
import { startAudit } from './accounts/audit'
import { startHeartbeat } from './accounts/heartbeat'
import { startCounting } from './accounts/usage/start-counting'
import { readConfiguration } from './config'
import { composeGateway } from './gateway'
import { MAX_HEADER_BYTES } from './payments/payment-header'
import { startPaymentMonitor } from './payments/payment-monitor'
import { startReconciler } from './payments/reconciler'
import { createReversalStore } from './payments/reversal-store'
import { startReversals } from './payments/reversals'
import { createRetention, retentionTasks } from './retention/retention'
import { stopTimes } from './stop-times'

/** For calls whose request was cut, so that their ends are written. */
const CALL_ENDS_GRACE_MS = 5_000
/** The next process repeats an interrupted settle request under the same idempotency key. */
const RECONCILER_GRACE_MS = 5_000

void run('gateway', async (closing) => {
  const environment = readConfiguration(process.env)
  const { graceSeconds, stopSeconds } = stopTimes(environment.UPSTREAM_TIMEOUT_SECONDS)
  closing.within(stopSeconds)
  const logger = createLogger({ service: 'gateway', level: environment.LOG_LEVEL })
  const now = () => new Date()

  const tracing = await openTracing(environment, { service: 'gateway', logger })
  closing.add('tracing', () => tracing.close())

  if (!curveIsNative) logger.warn('native secp256k1 missing, signatures verified by slower code')

  await waitForDatabase(environment.DATABASE_URL, {
    signal: closing.signal,
    onRetry: (attempt, reason) => logger.warn('postgres unavailable, retrying', { attempt, reason }),
    onUncheckedCertificate: (sslmode) => logger.warn('postgres certificate not checked', { sslmode }),
  })
  const database = openGatewayDatabase({
    url: environment.DATABASE_URL,
    poolSize: environment.DATABASE_POOL_SIZE,
  })
  closing.add('database', () => database.close())
  const metrics = createMetrics({ traceId: activeTraceId })
  exportPool(metrics, database.pool)

  const store = await openEphemeralStore({
    redisUrl: environment.REDIS_URL,
    prefix: 'gateway:',
    metrics,
    logger,
  })
  closing.add('ephemeral store', () => store.close())

  const facilitator = createFacilitatorClient({
    url: environment.FACILITATOR_URL,
    clientId: environment.FACILITATOR_CLIENT_ID,
    clientToken: environment.FACILITATOR_CLIENT_TOKEN,
  })
  closing.add('facilitator client', () => facilitator.close())

  const gateway = composeGateway({
    environment,
    variables: process.env,
    database,
    store,
    facilitator,
    logger,
    metrics,
    tracing,
    now,
  })
  closing.add('upstream connections', () => gateway.upstreams.close())
  closing.add('ledger', () => gateway.ledger.drain({ callsWithinMs: CALL_ENDS_GRACE_MS }))

  const heartbeat = await startHeartbeat(gateway.ledger, logger)
  closing.add('heartbeat', () => heartbeat.stop())
  const audit = startAudit({ database, metrics, logger, now })
  closing.add('audit', () => audit.stop())
  const paymentMonitor = startPaymentMonitor({ database, metrics, logger, now })
  closing.add('payment monitor', () => paymentMonitor.stop())
  const counting = startCounting({ database, metrics, logger })
  closing.add('usage counting', () => counting.stop())
  const retention = startRetention({
    run: createRetention(database, environment),
    tasks: retentionTasks(environment),
    metrics,
    logger,
  })
  closing.add('retention', () => retention.stop())
  const reconciler = startReconciler({
    settlements: gateway.settlements,
    processor: gateway.processor,
    logger,
  })
  const reversals = startReversals({
    settlements: gateway.facilitatorSettlements,
    store: createReversalStore(database),
    metrics,
    logger,
    now,
  })
  closing.add('reversals', () => withTimeout(reversals.stop(), RECONCILER_GRACE_MS, () => undefined))
  closing.add('webhooks', () => gateway.deliveryWorker.close())
  gateway.deliveryWorker.begin()
  closing.add('reconciler', () => withTimeout(reconciler.stop(), RECONCILER_GRACE_MS, () => undefined))

  // The first query of Prisma blocks the process for longer than the requests that need it can wait.
  await gateway.loadCatalog()
  const { app, health } = gateway
  const serving = { environment, closing, graceSeconds, maxHeaderBytes: MAX_HEADER_BYTES }
  const ports = await startServers({ app, health, metrics, logger }, serving)
  logger.info('serving', { ...ports, publicUrl: environment.PUBLIC_URL })
})
