import { type GatewayDatabase } from '@tollgate/database'
import { type Facilitator } from '@tollgate/facilitator-client'
import { createBudget, createHealth, type EphemeralStore, type Logger, type Metrics } from '@tollgate/service'
import { createAccountHandlers } from './accounts/handlers'
import { createHistory } from './accounts/history'
import { createLedger } from './accounts/ledger'
import { createApp } from './app'
import { createContractWallets } from './auth/contract-wallets'
import { createGuard } from './auth/guard'
import { createAuthHandlers } from './auth/handlers'
import { createNonces } from './auth/nonces'
import { createRefreshTokens } from './auth/refresh-tokens'
import { createSessions } from './auth/sessions'
import { createSignIn } from './auth/sign-in'
import { createTokens } from './auth/tokens'
import { createCatalog } from './catalog/catalog'
import { createCatalogHandlers } from './catalog/handlers'
import { createSupported } from './catalog/supported'
import { type Clocks } from './clocks'
import { type Environment } from './config'
import { createAdmission } from './payments/admission'
import { createBuyCredits } from './payments/buy-credits'
import { createPaymentProcessor } from './payments/payment-processor'
import { createSettlementStore } from './payments/settlement-store'
import { createPaymentStore } from './payments/store'
import { createDiscovery } from './reference/discovery'
import { createGatewayReference } from './reference/reference'
import { createForward } from './rpc/upstream/forward'
import { createRpcHandlers } from './rpc/handlers'
import { createPaidCall } from './rpc/paid-call'
import { createUpstreams } from './rpc/upstream/upstreams'

export type Infrastructure = {
  environment: Environment
  database: GatewayDatabase
  store: EphemeralStore
  facilitator: Facilitator
  logger: Logger
  metrics: Metrics
  now: () => Date
}

/** Wires the areas together. Opens upstream connections only. */
export function composeGateway(infrastructure: Infrastructure) {
  const { environment, database, store, facilitator, logger, metrics, now } = infrastructure
  const resource = `${environment.PUBLIC_URL}/rpc`
  const timeoutMs = environment.UPSTREAM_TIMEOUT_SECONDS * 1000

  const clocks: Clocks = { monotonicMs: () => performance.now(), wallMs: () => now().getTime() }

  const catalog = createCatalog(database, now)
  const ledger = createLedger(database, clocks)
  const secrets = [environment.JWT_SECRET, environment.JWT_SECRET_PREVIOUS].filter(
    (secret) => secret !== undefined,
  )
  const sessions = createSessions(database, createTokens(secrets, now), createRefreshTokens(secrets), now)
  const nonces = createNonces(store)
  const signIn = createSignIn({
    catalog,
    nonces,
    sessions,
    domains: environment.SIGN_IN_DOMAINS,
    publicUrl: environment.PUBLIC_URL,
    verifyContractSignature: createContractWallets({ catalog, logger }),
    now,
  })

  const payments = createPaymentStore(database)
  const settlements = createSettlementStore(database)
  const admission = createAdmission({ store, logger, limits: environment })
  const { takeRequest } = admission
  const processor = createPaymentProcessor({
    payments,
    settlements,
    facilitator,
    takeRequest,
    ledger,
    clocks,
    logger,
  })
  const buyCredits = createBuyCredits({ payments, processor, admission, sessions, resource, logger })

  const upstreams = createUpstreams({ timeoutMs, now })
  const forward = createForward(upstreams, timeoutMs)
  const supported = createSupported(facilitator, logger, now)
  const paidCall = createPaidCall({
    catalog,
    sessions,
    buyCredits,
    findFeePayer: supported.findFeePayer,
    payments,
    ledger,
    forward,
    freeTimeouts: createBudget({
      store,
      logger,
      name: 'timeouts',
      points: environment.FREE_TIMEOUTS_PER_MINUTE,
      durationSeconds: 60,
    }),
    freeUnknownMethods: createBudget({
      store,
      logger,
      name: 'unknown-methods',
      points: environment.FREE_UNKNOWN_METHODS_PER_MINUTE,
      durationSeconds: 60,
    }),
    resource,
    logger,
  })

  const health = createHealth({
    checks: { postgres: async () => (await database.pool.query('SELECT 1')).rowCount === 1 },
  })
  const app = createApp({
    environment,
    logger,
    metrics,
    store,
    health,
    withSession: createGuard(sessions),
    auth: createAuthHandlers(nonces, signIn, sessions),
    catalog: createCatalogHandlers(catalog, supported),
    accounts: createAccountHandlers(ledger, createHistory(database)),
    rpc: createRpcHandlers(paidCall),
    reference: createGatewayReference(environment.PUBLIC_URL, environment.SIGN_IN_DOMAINS, catalog),
    discovery: createDiscovery(catalog, environment.PUBLIC_URL, now),
    now,
  })
  const loadCatalog = () => Promise.allSettled([catalog.readPlans(), catalog.readProviders()])
  return { app, health, loadCatalog, ledger, payments, settlements, processor, upstreams }
}
