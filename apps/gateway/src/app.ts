import { unavailableReason } from '@tollgate/database'
import {
  addressKey,
  bodyOf,
  createBaseApp,
  createBulkhead,
  createBodyReader,
  createLimiter,
  limitBy,
  mountConsole,
  type Console,
  type EphemeralStore,
  type Health,
  type Logger,
  type Metrics,
  POINT_BYTES,
  type Tracing,
} from '@tollgate/service'
import { type createWebhookHandlers } from '@tollgate/webhooks'
import { type RequestHandler } from 'express'
import { pageCost } from './accounts/csv-export'
import { type createAccountHandlers } from './accounts/handlers'
import { type SessionHandler, type createGuard } from './auth/guard'
import { type createAuthHandlers } from './auth/handlers'
import { type Session } from './auth/sessions'
import { type createCatalogHandlers } from './catalog/handlers'
import { type Environment } from './config'
import { type createDiscovery } from './reference/discovery'
import { type createGatewayReference } from './reference/reference'
import { type OfferSigner } from './extensions/offer-receipt'
import { withoutSecrets } from './keys/access-key'
import { type createKeyHandlers } from './keys/handlers'
import { type createPayerAccountHandlers } from './payer-accounts/handlers'
import { type createPaymentHandlers } from './payments/handlers'
import { type createRpcHandlers } from './rpc/handlers'
import { HEIGHT_HEADERS } from './rpc/node-headers'
import { type createPlainHandlers } from './rpc/plain-handlers'

const BODY_LIMIT_BYTES = 32_768
const READ_LIMIT_BYTES = 2_048
/** For `/rpc`, which takes batches. */
const CALL_LIMIT_BYTES = 1_048_576
/** Leaves connections to Postgres for paid calls. */
const USAGE_REPORTS = { atOnce: 4, waiting: 64, perCaller: 4 }
const POINTS_PER_MIB = 1_048_576 / POINT_BYTES

export type AppDependencies = {
  environment: Environment
  logger: Logger
  metrics: Metrics
  tracing: Tracing
  store: EphemeralStore
  health: Health
  withSession: ReturnType<typeof createGuard>
  auth: ReturnType<typeof createAuthHandlers>
  catalog: ReturnType<typeof createCatalogHandlers>
  payments: ReturnType<typeof createPaymentHandlers>
  accounts: ReturnType<typeof createAccountHandlers>
  rpc: ReturnType<typeof createRpcHandlers>
  plain: ReturnType<typeof createPlainHandlers>
  keys: ReturnType<typeof createKeyHandlers>
  webhooks: ReturnType<typeof createWebhookHandlers<Session>>
  payerAccounts: ReturnType<typeof createPayerAccountHandlers>
  offerSigner: OfferSigner | undefined
  reference: ReturnType<typeof createGatewayReference>
  discovery: ReturnType<typeof createDiscovery>
  console: Console
  now: () => Date
}

export function createApp(dependencies: AppDependencies) {
  const { environment, logger, metrics, tracing, store, health, withSession, auth, catalog, accounts, rpc } =
    dependencies
  const { payments, keys, payerAccounts, webhooks, offerSigner, reference, discovery, now } = dependencies
  const limitAddress = createLimiter({
    store,
    logger,
    name: 'auth',
    points: environment.RATE_LIMIT_AUTH_PER_MINUTE,
    durationSeconds: 60,
  })
  const limitByAddress = limitBy(addressKey, limitAddress)
  const limitWallet = createLimiter({
    store,
    logger,
    name: 'rpc',
    points: environment.RATE_LIMIT_RPC_PER_MINUTE,
    durationSeconds: 60,
  })
  const readPoints = environment.RATE_LIMIT_READS_PER_MINUTE
  const limitRead = createLimiter({ store, logger, name: 'reads', points: readPoints, durationSeconds: 60 })
  const limitReads = limitBy(addressKey, limitRead)
  const limitPages: RequestHandler = async (req, res, next) => {
    await limitRead(addressKey(req), res, Math.min(pageCost(req), readPoints))
    next()
  }
  /** Counts only bodies above one point, so that a small call costs one store access, not two. */
  const limitUploads = createLimiter({
    store,
    logger,
    name: 'uploads',
    points: environment.RATE_LIMIT_UPLOAD_MIB_PER_MINUTE * POINTS_PER_MIB,
    durationSeconds: 60,
  })
  const readBody = createBodyReader()
  const body = bodyOf(readBody, { limitBytes: BODY_LIMIT_BYTES, limit: limitAddress })
  const smallBody = bodyOf(readBody, { limitBytes: READ_LIMIT_BYTES, limit: limitRead })
  const call: SessionHandler = async (req, res, session) => {
    const { wallet } = session
    await readBody(req, res, {
      limitBytes: CALL_LIMIT_BYTES,
      sender: wallet,
      async limit(points) {
        if (points > 1) await limitUploads(addressKey(req), res, points)
        await limitWallet(wallet, res, points)
      },
    })
    await rpc.call(req, res, session)
  }
  const buy: SessionHandler = async (req, res, session) => {
    await limitWallet(session.wallet, res)
    await payments.buy(req, res, session)
  }
  const withSmallBody = (handler: SessionHandler) =>
    withSession(async (req, res, session) => {
      await readBody(req, res, {
        limitBytes: BODY_LIMIT_BYTES,
        sender: session.wallet,
        limit: (points) => limitAddress(addressKey(req), res, points),
      })
      await handler(req, res, session)
    })
  const plain = dependencies.plain({
    readBody,
    limitBytes: CALL_LIMIT_BYTES,
    limitCalls: limitWallet,
    limitUploads,
    limitGuesses: limitAddress,
  })

  return createBaseApp({
    logger,
    now,
    trustProxy: environment.TRUSTED_PROXIES,
    unavailableReason,
    redactPath: withoutSecrets,
    tracing,
    onStarted: metrics.start,
    onCompleted: metrics.observe,
    cors: {
      origins: '*',
      allowedHeaders: [
        'x-payment',
        'payment-signature',
        'sign-in-with-x',
        'access-control-expose-headers',
        'traceparent',
        'tracestate',
        ...HEIGHT_HEADERS,
      ],
      exposedHeaders: [
        'X-PAYMENT-RESPONSE',
        'PAYMENT-RESPONSE',
        'PAYMENT-REQUIRED',
        'X-Credits-Charged',
        'X-Credits-Remaining',
        'Link',
        'Grpc-Metadata-X-Cosmos-Block-Height',
        // By which a wallet sees that its clock is wrong.
        'Date',
      ],
    },
    routes(app) {
      mountConsole(app, dependencies.console, limitReads)
      app.get('/health', health.health)
      app.get('/ready', health.ready)
      app.get('/auth/nonce', limitByAddress, auth.nonce)
      app.post('/auth/login', body, auth.login)
      app.post('/auth/refresh', body, auth.refresh)
      app.post('/auth/logout', limitByAddress, withSession(auth.logout))
      app.get('/pricing', catalog.plans)
      app.get('/pricing/:id', catalog.plan)
      app.get('/providers', catalog.providers)
      app.get('/providers/:id', catalog.provider)
      app.get('/x402/supported', catalog.supported)
      app.post('/rpc', withSession(call))
      app.post('/credits', withSession(buy))
      app.get('/v1/:chain', plain)
      app.post('/v1/:chain', plain)
      app.get('/v1/:chain/*path', plain)
      app.post('/v1/:chain/*path', plain)
      app.post('/keys', withSmallBody(keys.create))
      app.get('/keys', limitReads, withSession(keys.list))
      app.delete('/keys/:id', limitByAddress, withSession(keys.remove))
      app.post('/webhooks', withSmallBody(webhooks.create))
      app.get('/webhooks', limitReads, withSession(webhooks.list))
      app.put('/webhooks/:id', withSmallBody(webhooks.update))
      app.delete('/webhooks/:id', limitByAddress, withSession(webhooks.remove))
      app.post('/webhooks/:id/secret', limitByAddress, withSession(webhooks.rotateSecret))
      app.post('/webhooks/:id/test', limitByAddress, withSession(webhooks.test))
      app.post('/webhooks/:id/replay', withSmallBody(webhooks.replayRange))
      app.get('/webhooks/:id/deliveries', limitReads, withSession(webhooks.deliveries))
      app.get('/webhooks/:id/deliveries/:deliveryId', limitReads, withSession(webhooks.delivery))
      app.post('/webhooks/:id/deliveries/:deliveryId/replay', limitByAddress, withSession(webhooks.replay))
      app.get('/credits/:wallet', limitReads, accounts.credits)
      app.get('/usage/:wallet', limitReads, createBulkhead(USAGE_REPORTS)(accounts.usage))
      app.get('/history/:wallet', limitPages, accounts.history)
      app.get('/payments/:wallet', limitPages, accounts.payments)
      app.get('/payments/:wallet/:id', limitReads, payments.status)
      app.post('/accounts/:chain', smallBody, payerAccounts)
      app.get('/openapi.json', reference.openapi)
      app.get('/docs', reference.docs)
      app.get('/docs/:version/:file', limitReads, reference.viewer)
      app.get('/llms.txt', reference.llms)
      if (offerSigner) app.get(offerSigner.didPath, (_req, res) => res.json(offerSigner.didDocument))
      app.get('/.well-known/x402', discovery)
      app.get('/.well-known/x402.json', discovery)
    },
  })
}
