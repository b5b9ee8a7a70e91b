import {
  addressKey,
  createApp,
  createLimiter,
  createRateLimit,
  noteOtherMethods,
  type EphemeralStore,
  type Health,
  type Logger,
  type Metrics,
} from '@tollgate/service'
import { Router } from 'express'
import { type createClientGuard } from './clients/guard'
import { type createClientHandlers } from './clients/handlers'
import { type Environment } from './config'
import { type createNetworkHandlers } from './networks/handlers'
import { type createPaymentHandlers } from './payments/handlers'
import { type createAdminGuard, type createUserGuard } from './users/guard'
import { type createUserHandlers } from './users/handlers'

const BODY_LIMIT_BYTES = 256 * 1024

export type Surface = {
  environment: Environment
  logger: Logger
  metrics: Metrics
  store: EphemeralStore
  health: Health
  withClient: ReturnType<typeof createClientGuard>
  withUser: ReturnType<typeof createUserGuard>
  withAdmin: ReturnType<typeof createAdminGuard>
  payments: ReturnType<typeof createPaymentHandlers>
  networks: ReturnType<typeof createNetworkHandlers>
  users: ReturnType<typeof createUserHandlers>
  clients: ReturnType<typeof createClientHandlers>
  now: () => Date
}

/** The whole HTTP surface on one screen. */
export function createSurface(surface: Surface) {
  const { environment, logger, metrics, store, health, now } = surface
  const { withClient, withUser, withAdmin, payments, networks, users, clients } = surface
  const limit = { store, logger, durationSeconds: 60 }
  const byAddress = createRateLimit({
    ...limit,
    name: 'accounts',
    points: environment.RATE_LIMIT_ACCOUNTS_PER_MINUTE,
    key: addressKey,
  })
  const byClient = createLimiter({
    ...limit,
    name: 'payments',
    points: environment.RATE_LIMIT_PAYMENTS_PER_MINUTE,
  })

  const api = Router()
  api.get('/networks', networks.list)
  api.get('/networks/:id', networks.one)
  api.get('/assets', networks.assets)
  api.post('/verify', withClient('verify', payments.verify, byClient))
  api.post('/settle', withClient('settle', payments.settle, byClient))
  api.get('/supported', withClient('supported', networks.list))
  api.post('/signup', byAddress, users.signup)
  api.post('/login', byAddress, users.login)
  api.post('/token/refresh', byAddress, users.refresh)
  api.post('/clients', withUser(clients.create))
  api.get('/clients', withUser(clients.list))
  api.delete('/clients/:id', withUser(clients.remove))

  const admin = Router()
  admin.post('/assets', withAdmin(networks.register))

  for (const router of [api, admin]) noteOtherMethods(router)
  return createApp({
    logger,
    now,
    bodyLimitBytes: BODY_LIMIT_BYTES,
    trustProxy: environment.TRUSTED_PROXIES,
    onAnswer: (answer) => metrics.observe(answer),
    routes(app) {
      app.get('/health', health.health)
      app.get('/ready', health.ready)
      app.use('/api/v1', api)
      app.use(['/admin', '/api/v1/admin'], admin)
    },
  })
}
