import { unavailableReason } from '@tollgate/database'
import {
  addressKey,
  bodyOf,
  createBaseApp,
  createLimiter,
  createRateLimit,
  registerAllowedMethods,
  type EphemeralStore,
  type Health,
  type Logger,
  type Metrics,
  type ReadBody,
} from '@tollgate/service'
import { Router } from 'express'
import { BODY_LIMIT_BYTES } from './body-limit'
import { createBulkhead } from './bulkhead'
import { type createClientGuard } from './clients/guard'
import { type createClientHandlers } from './clients/handlers'
import { type Environment } from './config'
import { allowCrossOriginReads, CROSS_ORIGIN_PATHS } from './cross-origin-reads'
import { type createDeniedAddressHandlers } from './denied-addresses/handlers'
import { type createInvitationHandlers } from './invitations/handlers'
import { type createMetricsHandlers } from './metrics/handlers'
import { type HttpMetricsRecorder } from './metrics/http-metrics-recorder'
import { type createCapabilityHandlers } from './networks/capabilities'
import { type createNetworkHandlers } from './networks/handlers'
import { type createPaymentHandlers } from './payments/handlers'
import { type createPaymentHandlersOfAnyVersion } from './payments/versions/any-version'
import { type createPaymentHandlersV2 } from './payments/versions/v2'
import { type createFacilitatorReference } from './reference/reference'
import { type createRecipientHandlers } from './recipients/handlers'
import { type createResourceHandlers } from './resources/handlers'
import { type createSettlementHandlers } from './settlements/handlers'
import { createMerchantGuard } from './settlements/merchant-guard'
import { type createAdminGuard, type createUserGuard } from './users/guard'
import { type createUserHandlers } from './users/handlers'

/** Long responses leave the other connections for payments; a report uses up to two. */
const CONNECTIONS_OF_ONE = 5
const LONG_ANSWERS = { waiting: 64, perCaller: 10 }

export type AppDependencies = {
  environment: Environment
  logger: Logger
  metrics: Metrics
  metricsRecorder: HttpMetricsRecorder
  store: EphemeralStore
  health: Health
  readBody: ReadBody
  withClient: ReturnType<typeof createClientGuard>
  withUser: ReturnType<typeof createUserGuard>
  withAdmin: ReturnType<typeof createAdminGuard>
  payments: ReturnType<typeof createPaymentHandlers>
  paymentsV2: ReturnType<typeof createPaymentHandlersV2>
  paymentsOfAnyVersion: ReturnType<typeof createPaymentHandlersOfAnyVersion>
  capabilities: ReturnType<typeof createCapabilityHandlers>
  networks: ReturnType<typeof createNetworkHandlers>
  users: ReturnType<typeof createUserHandlers>
  clients: ReturnType<typeof createClientHandlers>
  invitations: ReturnType<typeof createInvitationHandlers>
  recipients: ReturnType<typeof createRecipientHandlers>
  deniedAddresses: ReturnType<typeof createDeniedAddressHandlers>
  resources: ReturnType<typeof createResourceHandlers>
  measured: ReturnType<typeof createMetricsHandlers>
  settlements: ReturnType<typeof createSettlementHandlers>
  reference: ReturnType<typeof createFacilitatorReference>
  now: () => Date
}

export function createApp(dependencies: AppDependencies) {
  const { environment, logger, metrics, metricsRecorder, store, health, now } = dependencies
  const { withClient, withUser, withAdmin, payments, paymentsV2, networks, users, clients } = dependencies
  const { resources, measured, reference, readBody, paymentsOfAnyVersion, capabilities } = dependencies
  const { invitations, recipients, deniedAddresses, settlements } = dependencies
  const limit = { store, logger, durationSeconds: 60 }
  const perAddress = (name: string, points: number) =>
    createRateLimit({ ...limit, name, points, key: addressKey })
  const limitReads = perAddress('reads', environment.RATE_LIMIT_READS_PER_MINUTE)
  /** Discovery pages and files of the API reference can have two megabytes. */
  const limitLists = perAddress('lists', environment.RATE_LIMIT_LISTS_PER_MINUTE)
  const limitClient = createLimiter({
    ...limit,
    name: 'payments',
    points: environment.RATE_LIMIT_PAYMENTS_PER_MINUTE,
  })

  const withMerchant = createMerchantGuard({
    withClient,
    withUser,
    limitClient: createLimiter({
      ...limit,
      name: 'client-reads',
      points: environment.RATE_LIMIT_USERS_PER_MINUTE,
    }),
  })

  const limitAccounts = createLimiter({
    ...limit,
    name: 'accounts',
    points: environment.RATE_LIMIT_ACCOUNTS_PER_MINUTE,
  })
  const body = bodyOf(readBody, { limitBytes: BODY_LIMIT_BYTES, limit: limitAccounts })

  const atOnce = Math.max(1, Math.floor(environment.DATABASE_POOL_SIZE / CONNECTIONS_OF_ONE))
  const limited = createBulkhead({ ...LONG_ANSWERS, atOnce })

  const api = Router()
  api.get('/status', limitReads, networks.status)
  api.get('/networks', networks.list)
  api.get('/networks/:id', networks.one)
  api.get('/assets', limitReads, networks.assets)
  api.post('/verify', withClient('verify', payments.verify, limitClient))
  api.post('/settle', withClient('settle', payments.settle, limitClient))
  api.get('/supported', withClient('supported', networks.list))
  api.post('/signup', body, users.signup)
  api.post('/login', body, users.login)
  api.post('/token/refresh', body, users.refresh)
  api.post('/clients', withUser(clients.create))
  api.get('/clients', withUser(limited(clients.list)))
  api.delete('/clients/:id', withUser(clients.remove))
  api.post('/recipients/challenge', withUser(recipients.challenge))
  api.post('/recipients', withUser(recipients.reserve))
  api.get('/recipients', withUser(limited(recipients.list)))
  api.delete('/recipients/:id', withUser(recipients.remove))
  api.post('/resources', withUser(resources.create))
  api.get('/users/resources', limitLists, withUser(limited(resources.own)))
  api.get('/resources', limitLists, limited(resources.all))
  api.put('/resources/:id', withUser(resources.update))
  api.get('/discovery/resources', limitLists, limited(resources.discovery))
  api.get('/settlements', withMerchant(limited(settlements.list)))
  api.get('/settlements/:id', withMerchant(limited(settlements.one)))
  api.get('/metrics/daily', withUser(limited(measured.http.daily)))
  api.get('/metrics/monthly', withUser(limited(measured.http.monthly)))
  api.get('/metrics/summary', withUser(limited(measured.http.summary)))
  api.get('/x402-metrics/daily', withUser(limited(measured.settlements.daily)))
  api.get('/x402-metrics/monthly', withUser(limited(measured.settlements.monthly)))
  api.get('/x402-metrics/summary', withUser(limited(measured.settlements.summary)))

  const apiV2 = Router()
  apiV2.post('/verify', withClient('verify', paymentsV2.verify, limitClient))
  apiV2.post('/settle', withClient('settle', paymentsV2.settle, limitClient))
  apiV2.get('/supported', withClient('supported', paymentsV2.supported))
  apiV2.get('/discovery/resources', limitLists, limited(resources.discoveryV2))
  apiV2.get('/discovery/search', limitLists, limited(resources.search))
  apiV2.get('/discovery/merchant', limitLists, limited(resources.merchant))

  const admin = Router()
  admin.post('/users', withAdmin(users.create))
  admin.get('/users', withAdmin(users.list))
  admin.post('/assets', withAdmin(networks.register))
  admin.post('/invitations', withAdmin(invitations.create))
  admin.get('/invitations', withAdmin(invitations.list))
  admin.delete('/invitations/:id', withAdmin(invitations.remove))
  admin.post('/recipients', withAdmin(recipients.assign))
  admin.get('/recipients', withAdmin(recipients.all))
  admin.delete('/recipients/:id', withAdmin(recipients.unassign))
  admin.post('/denied-addresses', withAdmin(deniedAddresses.add))
  admin.get('/denied-addresses', withAdmin(deniedAddresses.list))
  admin.delete('/denied-addresses/:address', withAdmin(deniedAddresses.remove))

  for (const router of [api, apiV2, admin]) registerAllowedMethods(router)
  return createBaseApp({
    logger,
    now,
    trustProxy: environment.TRUSTED_PROXIES,
    unavailableReason,
    onCompleted(answer) {
      metrics.observe(answer)
      metricsRecorder.answered(answer)
    },
    routes(app) {
      app.get('/health', health.health)
      app.get('/ready', health.ready)
      app.get('/openapi.json', reference.openapi)
      app.get('/docs', reference.docs)
      app.get('/docs/:version/:file', limitLists, reference.viewer)
      app.get('/llms.txt', reference.llms)
      app.use(CROSS_ORIGIN_PATHS, allowCrossOriginReads)
      app.post('/verify', withClient('verify', paymentsOfAnyVersion.verify, limitClient))
      app.post('/settle', withClient('settle', paymentsOfAnyVersion.settle, limitClient))
      app.get('/supported', limitReads, capabilities.supported)
      app.get('/.well-known/x402', limitReads, capabilities.document)
      app.get('/discovery/resources', limitLists, limited(resources.discovery))
      app.get('/discovery/search', limitLists, limited(resources.search))
      app.get('/discovery/merchant', limitLists, limited(resources.merchant))
      app.use('/api/v1', api)
      app.use('/api/v2', apiV2)
      app.use(['/admin', '/api/v1/admin'], admin)
    },
  })
}
