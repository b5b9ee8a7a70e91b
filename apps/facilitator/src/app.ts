import { unavailableReason } from '@tollgate/database'
import {
  addressKey,
  bodyOf,
  createBaseApp,
  createBulkhead,
  createLimiter,
  createRateLimit,
  mountConsole,
  registerAllowedMethods,
  sendCsv,
  wantsCsv,
  type Console,
  type EphemeralStore,
  type Health,
  type Logger,
  type Metrics,
  type ReadBody,
  type Tracing,
} from '@tollgate/service'
import { type createWebhookHandlers } from '@tollgate/webhooks'
import { Router, type Request, type Response } from 'express'
import { BODY_LIMIT_BYTES } from './body-limit'
import { createClientLimit } from './clients/client-limit'
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
import { type createOperatorHandlers } from './operations/admin/operator'
import { type createPaymentHandlers } from './payments/handlers'
import { type createPaymentHandlersOfAnyVersion } from './payments/versions/any-version'
import { type createPaymentHandlersV2 } from './payments/versions/v2'
import { type createFacilitatorReference } from './reference/reference'
import { type createRecipientHandlers } from './recipients/handlers'
import { type createResourceHandlers } from './resources/handlers'
import { type createSettlementHandlers } from './settlements/handlers'
import { createMerchantGuard, type Merchant } from './settlements/merchant-guard'
import { type createAdminActionGuard, type createAdminGuard, type createUserGuard } from './users/guard'
import { type createUserHandlers } from './users/handlers'
import { type createPasswordHandlers } from './users/password-handlers'
import { type createSessionHandlers } from './users/session-handlers'
import { type User } from './users/store'

/** Long responses leave the other connections for payments; a report uses up to two. */
const CONNECTIONS_OF_ONE = 5
const LONG_ANSWERS = { waiting: 64, perCaller: 10 }
/** An export holds its place, and up to 5 MB, until its client has read it. */
const EXPORTS = { atOnce: 8, waiting: 16, perCaller: 2 }
const EXPORTS_PER_MINUTE = 60

export type AppDependencies = {
  environment: Environment
  logger: Logger
  metrics: Metrics
  tracing: Tracing
  metricsRecorder: HttpMetricsRecorder
  store: EphemeralStore
  health: Health
  readBody: ReadBody
  withClient: ReturnType<typeof createClientGuard>
  withUser: ReturnType<typeof createUserGuard>
  withAdmin: ReturnType<typeof createAdminGuard>
  withAdminAction: ReturnType<typeof createAdminActionGuard>
  payments: ReturnType<typeof createPaymentHandlers>
  paymentsV2: ReturnType<typeof createPaymentHandlersV2>
  paymentsOfAnyVersion: ReturnType<typeof createPaymentHandlersOfAnyVersion>
  capabilities: ReturnType<typeof createCapabilityHandlers>
  networks: ReturnType<typeof createNetworkHandlers>
  users: ReturnType<typeof createUserHandlers>
  sessions: ReturnType<typeof createSessionHandlers>
  passwords: ReturnType<typeof createPasswordHandlers>
  clients: ReturnType<typeof createClientHandlers>
  invitations: ReturnType<typeof createInvitationHandlers>
  recipients: ReturnType<typeof createRecipientHandlers>
  deniedAddresses: ReturnType<typeof createDeniedAddressHandlers>
  operator: ReturnType<typeof createOperatorHandlers>
  resources: ReturnType<typeof createResourceHandlers>
  measured: ReturnType<typeof createMetricsHandlers>
  settlements: ReturnType<typeof createSettlementHandlers>
  webhooks: ReturnType<typeof createWebhookHandlers<Pick<User, 'id'>>>
  reference: ReturnType<typeof createFacilitatorReference>
  console: Console
  now: () => Date
}

export function createApp(dependencies: AppDependencies) {
  const { environment, logger, metrics, tracing, metricsRecorder, store, health, now } = dependencies
  const { withClient, withUser, withAdmin, withAdminAction, payments, paymentsV2, networks, users, clients } =
    dependencies
  const { resources, measured, reference, readBody, paymentsOfAnyVersion, capabilities } = dependencies
  const { invitations, recipients, deniedAddresses, sessions, passwords, operator, settlements, webhooks } =
    dependencies
  const limit = { store, logger, durationSeconds: 60 }
  const perAddress = (name: string, points: number) =>
    createRateLimit({ ...limit, name, points, key: addressKey })
  const limitReads = perAddress('reads', environment.RATE_LIMIT_READS_PER_MINUTE)
  /** Discovery pages and files of the API reference can have two megabytes. */
  const limitLists = perAddress('lists', environment.RATE_LIMIT_LISTS_PER_MINUTE)
  const limitClients = { ...limit, isSignUpOpen: environment.SIGN_UP === 'open' }
  const limitClient = createClientLimit({
    ...limitClients,
    name: 'payments',
    points: environment.RATE_LIMIT_PAYMENTS_PER_MINUTE,
  })

  const withMerchant = createMerchantGuard({
    withClient,
    withUser,
    limitClient: createClientLimit({
      ...limitClients,
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

  const exported = createBulkhead(EXPORTS)
  const limitExports = createLimiter({ ...limit, name: 'exports', points: EXPORTS_PER_MINUTE })
  const listSettlements = limited(settlements.list)
  const readSettlements = limited(settlements.readCsv)
  const exportSettlements = exported(async (req: Request, res: Response, merchant: Merchant) => {
    await limitExports(`user ${res.locals.userId}`, res)
    const page = await readSettlements(req, res, merchant)
    if (page) await sendCsv(req, res, page)
  })

  const api = Router()
  api.get('/status', limitReads, networks.status)
  api.get('/networks', networks.list)
  api.get('/networks/:id', networks.one)
  api.get('/assets', limitReads, networks.assets)
  api.post('/verify', withClient('verify', payments.verify, limitClient))
  api.post('/settle', withClient('settle', payments.settle, limitClient))
  api.get('/supported', withClient('supported', networks.list))
  api.get('/sign-up', limitReads, users.signUpMode)
  api.post('/signup', body, users.signup)
  api.post('/login', body, users.login)
  api.post('/token/refresh', body, users.refresh)
  api.post('/logout', withUser(sessions.logout))
  api.get('/sessions', withUser(sessions.list))
  api.delete('/sessions', withUser(sessions.endOthers))
  api.delete('/sessions/:id', withUser(sessions.end))
  api.post('/password', withUser(passwords.change))
  api.post('/password/reset', body, passwords.reset)
  api.get('/users/me', withUser(users.me))
  api.delete('/users/me', withUser(passwords.deleteAccount))
  api.post('/clients', withUser(clients.create))
  api.get('/clients', withUser(limited(clients.list)))
  api.delete('/clients/:id', withUser(clients.remove))
  api.post('/recipients/challenge', withUser(recipients.challenge))
  api.post('/recipients', withUser(recipients.reserve))
  api.get('/recipients', withUser(limited(recipients.list)))
  api.delete('/recipients/:id', withUser(recipients.remove))
  api.post('/webhooks', withUser(webhooks.create))
  api.get('/webhooks', withUser(webhooks.list))
  api.put('/webhooks/:id', withUser(webhooks.update))
  api.delete('/webhooks/:id', withUser(webhooks.remove))
  api.post('/webhooks/:id/secret', withUser(webhooks.rotateSecret))
  api.post('/webhooks/:id/test', withUser(webhooks.test))
  api.post('/webhooks/:id/replay', withUser(limited(webhooks.replayRange)))
  api.get('/webhooks/:id/deliveries', withUser(limited(webhooks.deliveries)))
  api.get('/webhooks/:id/deliveries/:deliveryId', withUser(webhooks.delivery))
  api.post('/webhooks/:id/deliveries/:deliveryId/replay', withUser(webhooks.replay))
  api.post('/resources', withUser(resources.create))
  api.get('/users/resources', limitLists, withUser(limited(resources.own)))
  api.get('/resources', limitLists, limited(resources.all))
  api.put('/resources/:id', withUser(resources.update))
  api.get('/discovery/resources', limitLists, limited(resources.discovery))
  api.get(
    '/settlements',
    withMerchant((req, res, merchant) =>
      (wantsCsv(req) ? exportSettlements : listSettlements)(req, res, merchant),
    ),
  )
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
  admin.get('/overview', withAdmin(operator.overview))
  admin.get('/networks', withAdmin(operator.networks))
  admin.get('/signers', withAdmin(operator.signers))
  admin.get('/fees', withAdmin(operator.fees))
  admin.get('/settlements', withAdmin(operator.settlements.list))
  admin.get('/settlements/:id', withAdmin(operator.settlements.one))
  admin.post('/settlements/:id/retry', withAdminAction(operator.settlements.retry))
  admin.post('/users', withAdminAction(users.create))
  admin.get('/users', withAdmin(operator.users.list))
  admin.post('/users/:id/password-reset', withAdminAction(passwords.issueReset))
  admin.post('/users/:id/disable', withAdminAction(operator.users.disable))
  admin.post('/users/:id/enable', withAdminAction(operator.users.enable))
  admin.post('/assets', withAdminAction(networks.register))
  admin.get('/assets', withAdmin(operator.assets.list))
  admin.post('/assets/:id/activate', withAdminAction(operator.assets.activate))
  admin.post('/assets/:id/deactivate', withAdminAction(operator.assets.deactivate))
  admin.post('/invitations', withAdminAction(invitations.create))
  admin.get('/invitations', withAdmin(invitations.list))
  admin.delete('/invitations/:id', withAdminAction(invitations.remove))
  admin.post('/recipients', withAdminAction(recipients.assign))
  admin.get('/recipients', withAdmin(recipients.all))
  admin.delete('/recipients/:id', withAdminAction(recipients.unassign))
  admin.post('/denied-addresses', withAdminAction(deniedAddresses.add))
  admin.get('/denied-addresses', withAdmin(deniedAddresses.list))
  admin.delete('/denied-addresses/:address', withAdminAction(deniedAddresses.remove))

  for (const router of [api, apiV2, admin]) registerAllowedMethods(router)
  return createBaseApp({
    logger,
    tracing,
    now,
    trustProxy: environment.TRUSTED_PROXIES,
    unavailableReason,
    onStarted: metrics.start,
    onCompleted(answer) {
      metrics.observe(answer)
      metricsRecorder.answered(answer)
    },
    routes(app) {
      mountConsole(app, dependencies.console, limitReads)
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
      app.get('/discovery/resources', limitLists, limited(resources.discoveryOfAnyVersion))
      app.get('/discovery/search', limitLists, limited(resources.search))
      app.get('/discovery/merchant', limitLists, limited(resources.merchant))
      app.use('/api/v1', api)
      app.use('/api/v2', apiV2)
      app.use(['/admin', '/api/v1/admin'], admin)
    },
  })
}
