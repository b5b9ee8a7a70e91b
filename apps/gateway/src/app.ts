import { reasonAway } from '@tollgate/database'
import {
  addressKey,
  createApp,
  createLimiter,
  createRateLimit,
  type EphemeralStore,
  type Health,
  type Logger,
  type Metrics,
} from '@tollgate/service'
import { type Request } from 'express'
import { type createAccountHandlers } from './accounts/handlers'
import { type SessionHandler, type createGuard } from './auth/guard'
import { type createAuthHandlers } from './auth/handlers'
import { type createCatalogHandlers } from './catalog/handlers'
import { type Environment } from './config'
import { type createDiscovery } from './reference/discovery'
import { type createGatewayReference } from './reference/reference'
import { type PaidCall } from './rpc/paid-call'

const BODY_LIMIT_BYTES = 32_768
/** Of `/rpc`, where a batch may be, for whoever is signed in. */
const CALL_LIMIT_BYTES = 1_048_576

export type Surface = {
  environment: Environment
  logger: Logger
  metrics: Metrics
  store: EphemeralStore
  health: Health
  withSession: ReturnType<typeof createGuard>
  auth: ReturnType<typeof createAuthHandlers>
  catalog: ReturnType<typeof createCatalogHandlers>
  accounts: ReturnType<typeof createAccountHandlers>
  paidCall: PaidCall
  reference: ReturnType<typeof createGatewayReference>
  discovery: ReturnType<typeof createDiscovery>
  now: () => Date
}

/** The whole HTTP surface on one screen. */
export function createGateway(surface: Surface) {
  const { environment, logger, metrics, store, health, withSession, auth, catalog, accounts, paidCall } =
    surface
  const { reference, discovery, now } = surface
  const byAddress = createRateLimit({
    store,
    logger,
    name: 'auth',
    points: environment.RATE_LIMIT_AUTH_PER_MINUTE,
    durationSeconds: 60,
    key: addressKey,
  })
  const limitWallet = createLimiter({
    store,
    logger,
    name: 'rpc',
    points: environment.RATE_LIMIT_RPC_PER_MINUTE,
    durationSeconds: 60,
  })
  const byReader = createRateLimit({
    store,
    logger,
    name: 'reads',
    points: environment.RATE_LIMIT_READS_PER_MINUTE,
    durationSeconds: 60,
    key: addressKey,
  })
  const rpc: SessionHandler = async (req, res, session) => {
    await limitWallet(session.wallet, res)
    await paidCall(req, res, session)
  }

  return createApp({
    logger,
    now,
    bodyLimitBytes: bodyLimit(withSession),
    trustProxy: environment.TRUSTED_PROXIES,
    reasonAway,
    onAnswer: (answer) => metrics.observe(answer),
    cors: {
      origins: '*',
      allowedHeaders: ['x-payment', 'payment-signature', 'access-control-expose-headers'],
      exposedHeaders: [
        'X-PAYMENT-RESPONSE',
        'PAYMENT-RESPONSE',
        'PAYMENT-REQUIRED',
        'X-Credits-Charged',
        'X-Credits-Remaining',
      ],
    },
    routes(app) {
      app.get('/health', health.health)
      app.get('/ready', health.ready)
      app.get('/auth/nonce', byAddress, auth.nonce)
      app.post('/auth/login', byAddress, auth.login)
      app.post('/auth/refresh', byAddress, auth.refresh)
      app.post('/auth/logout', byAddress, withSession(auth.logout))
      app.get('/pricing', catalog.plans)
      app.get('/pricing/:id', catalog.plan)
      app.get('/providers', catalog.providers)
      app.get('/providers/:id', catalog.provider)
      app.get('/x402/supported', catalog.supported)
      app.post('/rpc', withSession(rpc))
      app.get('/credits/:wallet', byReader, accounts.credits)
      app.get('/history/:wallet', byReader, accounts.history)
      app.get('/payments/:wallet', byReader, accounts.payments)
      app.get('/openapi.json', reference.openapi)
      app.get('/docs', reference.docs)
      app.get('/llms.txt', reference.llms)
      app.get('/.well-known/x402', discovery)
      app.get('/.well-known/x402.json', discovery)
    },
  })
}

/**
 * To read a large body as JSON costs far more than to refuse it: so its sender proves itself first. A body that says itself
 * to be small is read without, and its bearer verified once, where it is used.
 */
const bodyLimit =
  ({ authenticate }: Surface['withSession']) =>
  (req: Request): number => {
    const isCall = req.method === 'POST' && /^\/rpc\/?$/i.test(req.path)
    if (!isCall || isSmall(req)) return BODY_LIMIT_BYTES
    authenticate(req)
    return CALL_LIMIT_BYTES
  }

/** In chunks it has no length. */
const isSmall = ({ headers }: Request) =>
  headers['content-encoding'] === undefined && Number(headers['content-length']) <= BODY_LIMIT_BYTES
