import { curveIsNative, families } from '@tollgate/chains'
import { openFacilitatorDatabase, waitForDatabase } from '@tollgate/database'
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
import { readConfiguration } from './config'
import { sessionsOf, composeFacilitator } from './facilitator'
import { createRetention, retentionTasks } from './retention/retention'

/** After it, requests that wait for a settlement get `settlement_pending`. */
const DRAIN_AFTER_MS = 2_000
const GRACE_SECONDS = 10

void run('facilitator', async (closing) => {
  const configuration = readConfiguration(process.env)
  const { environment } = configuration
  const logger = createLogger({ service: 'facilitator', level: environment.LOG_LEVEL })

  const tracing = await openTracing(environment, { service: 'facilitator', logger })
  closing.add('tracing', () => tracing.close())

  if (!curveIsNative) logger.warn('native secp256k1 missing, signatures verified by slower code')

  await waitForDatabase(environment.DATABASE_URL, {
    signal: closing.signal,
    onRetry: (attempt, reason) => logger.warn('postgres unavailable, retrying', { attempt, reason }),
    onUncheckedCertificate: (sslmode) => logger.warn('postgres certificate not checked', { sslmode }),
  })
  const database = openFacilitatorDatabase({
    url: environment.DATABASE_URL,
    poolSize: environment.DATABASE_POOL_SIZE + sessionsOf(configuration),
    onError: (error) => logger.warn('database connection lost', { error }),
  })
  closing.add('database', () => database.close())
  const metrics = createMetrics({ traceId: activeTraceId })
  exportPool(metrics, database.pool)

  const ephemeral = await openEphemeralStore({
    redisUrl: environment.REDIS_URL,
    prefix: 'facilitator:',
    metrics,
    logger,
  })
  closing.add('ephemeral store', () => ephemeral.close())

  const facilitator = await composeFacilitator({
    configuration,
    families,
    database,
    ephemeral,
    logger,
    metrics,
    tracing,
    now: () => new Date(),
  })
  const {
    app,
    health,
    networks,
    notifications,
    operations,
    settlementWaiter,
    ownershipChecks,
    cataloger,
    deliveryWorker,
    settlers,
    metricsRecorder,
  } = facilitator
  closing.add('http metrics', () => metricsRecorder.close())
  metricsRecorder.begin()
  closing.add('networks', () => networks.close())
  networks.watchNodes()
  await networks.registerConfigured()

  closing.add('notifications', () => notifications.close())
  notifications.begin()
  closing.add('settlers', () => Promise.all(settlers.map((settler) => settler.close())))
  for (const settler of settlers) settler.begin()
  closing.add('operations', () => operations.close())
  operations.begin()
  closing.add('ownership checks', () => ownershipChecks.close())
  ownershipChecks.begin()
  closing.add('cataloger', () => cataloger.close())
  cataloger.begin()
  closing.add('webhooks', () => deliveryWorker.close())
  deliveryWorker.begin()
  closing.add('settlement waiter', () => settlementWaiter.close())
  const retention = startRetention({
    run: createRetention(database, environment),
    tasks: retentionTasks(environment),
    metrics,
    logger,
  })
  closing.add('retention', () => retention.stop())

  const ports = await startServers(
    { app, health, metrics, logger },
    {
      environment,
      closing,
      graceSeconds: GRACE_SECONDS,
      onStopping: () => setTimeout(() => settlementWaiter.drain(), DRAIN_AFTER_MS).unref(),
    },
  )
  logger.info('serving', { ...ports, networks: networks.all.map(({ name }) => name) })
})
