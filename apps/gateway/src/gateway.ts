import { type GatewayDatabase } from '@tollgate/database'
import { type Facilitator } from '@tollgate/facilitator-client'
import {
  type Budget,
  createBudget,
  createConsole,
  createHealth,
  isDevelopment,
  type EphemeralStore,
  type Logger,
  type Metrics,
  type Tracing,
} from '@tollgate/service'
import { createDeliveryWorker, createEndpointStore, createWebhookHandlers } from '@tollgate/webhooks'
import { dirname, join } from 'node:path'
import { createFreeCredits } from './accounts/free-credits'
import { createAccountHandlers } from './accounts/handlers'
import { createHistory } from './accounts/history'
import { createLedger } from './accounts/ledger'
import { createLedgerMetrics } from './accounts/ledger-metrics'
import { createUsageReport } from './accounts/usage/usage-report'
import { createApp } from './app'
import { createContractWallets } from './auth/contract-wallets'
import { domainsOf } from './auth/domain'
import { createGuard } from './auth/guard'
import { createAuthHandlers } from './auth/handlers'
import { createNonces } from './auth/nonces'
import { createSessions } from './auth/sessions'
import { createSignIn } from './auth/sign-in'
import { createSignInPerRequest } from './auth/sign-in-per-request'
import { createTokens } from './auth/tokens'
import { createCatalog } from './catalog/catalog'
import { createCatalogHandlers } from './catalog/handlers'
import { createProviderSecrets } from './catalog/secrets/provider-secrets'
import { createSupported } from './catalog/supported'
import { type Clocks } from './clocks'
import { type Environment } from './config'
import { createOfferSigner } from './extensions/offer-receipt'
import { createSignInWithX } from './extensions/sign-in-with-x'
import { createKeyHandlers } from './keys/handlers'
import { createAccessKeyStore } from './keys/store'
import { createPayerAccountHandlers } from './payer-accounts/handlers'
import { createAdmission } from './payments/admission'
import { createBuyCredits } from './payments/buy-credits'
import { createBuyInSession } from './payments/buy-in-session'
import { createPaymentHandlers } from './payments/handlers'
import { createIdentifiedPayments } from './payments/identified-payments'
import { measureFacilitator } from './payments/measured-facilitator'
import { createPaymentMetrics } from './payments/payment-metrics'
import { createPaymentProcessor } from './payments/payment-processor'
import { createPlanPayment } from './payments/plan-payment'
import { createSettlementLookup } from './payments/settlement-lookup'
import { createSettlementStore } from './payments/settlement-store'
import { createPaymentStore } from './payments/store'
import { createDiscovery } from './reference/discovery'
import { createGatewayReference } from './reference/reference'
import { createForward } from './rpc/upstream/forward'
import { createCallMetrics } from './rpc/call-metrics'
import { createCallsInFlight } from './rpc/calls-in-flight'
import { createRpcHandlers } from './rpc/handlers'
import { createPaidCall } from './rpc/paid-call'
import { createPayByKey } from './rpc/pay-by-key'
import { createPayByPayment } from './rpc/pay-by-payment'
import { createPayFree } from './rpc/pay-free'
import { createPayInSession } from './rpc/pay-in-session'
import { createPaymentChoice } from './rpc/payment-choice'
import { createPlainHandlers } from './rpc/plain-handlers'
import { exportCircuits } from './rpc/upstream/upstream-metrics'
import { createUpstreams } from './rpc/upstream/upstreams'
import { EMIT_OVERDUE } from './webhooks/overdue-sql'
import { PAID_EVENTS } from './webhooks/paid-events'
import { createWire } from './webhooks/wire'

const consoleFolder = join(dirname(require.resolve('@tollgate/console/package.json')), 'dist/gateway')

export type Infrastructure = {
  environment: Environment
  /** Where the catalog's `${env:NAME}` are found. */
  variables: Readonly<NodeJS.ProcessEnv>
  database: GatewayDatabase
  store: EphemeralStore
  facilitator: Facilitator
  logger: Logger
  metrics: Metrics
  tracing: Tracing
  now: () => Date
}

/** Nodes answer for an account at once, and the page that asks waits 15 s. */
const PAYER_TIMEOUT_MS = 5_000

/** Wires the areas together. Opens upstream connections only. */
export function composeGateway(infrastructure: Infrastructure) {
  const { environment, variables, database, store, logger, metrics, tracing, now } = infrastructure
  const facilitator = measureFacilitator(infrastructure.facilitator, metrics)
  const paymentMetrics = createPaymentMetrics(metrics, now)
  const resource = `${environment.PUBLIC_URL}/rpc`
  const timeoutMs = environment.UPSTREAM_TIMEOUT_SECONDS * 1000
  const payerTimeoutMs = Math.min(timeoutMs, PAYER_TIMEOUT_MS)

  const clocks: Clocks = { monotonicMs: () => performance.now(), wallMs: () => now().getTime() }

  /** Our own requests go to this machine only if the mode allows it. */
  const isProduction = !isDevelopment(environment)
  const reach = createProviderSecrets({ variables, isProduction, logger, metrics })
  const catalog = createCatalog(database, now, reach)
  const ledgerMetrics = createLedgerMetrics(metrics)
  const ledger = createLedger(database, clocks, ledgerMetrics)
  const freeCredits = createFreeCredits({ database, limits: environment, metrics: ledgerMetrics, logger })
  const history = createHistory(database)
  const secrets = [environment.JWT_SECRET, environment.JWT_SECRET_PREVIOUS].filter(
    (secret) => secret !== undefined,
  )
  const sessions = createSessions(database, createTokens(secrets, now), now)
  const nonces = createNonces(store)
  const verifyContractSignature = createContractWallets({ catalog, store, logger })
  const signInWithX = createSignInWithX({
    nonces,
    verifyContractSignature,
    publicUrl: environment.PUBLIC_URL,
    now,
  })
  const domains = domainsOf(environment.SIGN_IN_DOMAINS, environment.PUBLIC_URL)
  const signIn = createSignIn({
    catalog,
    nonces,
    sessions,
    freeCredits,
    listedDomains: environment.SIGN_IN_DOMAINS,
    publicUrl: environment.PUBLIC_URL,
    verifyContractSignature,
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
    metrics: paymentMetrics,
    tracing,
    logger,
  })
  const buyCredits = createBuyCredits({
    payments,
    processor,
    admission,
    facilitator,
    sessions,
    tracing,
    logger,
  })

  /** Counts what calls cost. A call that costs more than the whole budget may use it up, too. */
  const creditBudget = (name: string, points: number): Budget => {
    const take = createBudget({ store, logger, name, points, durationSeconds: 60 })
    return (wallet, cost = 1) => take(wallet, Math.min(cost, points))
  }
  const upstreams = createUpstreams({ timeoutMs, now, metrics })
  exportCircuits({ metrics, catalog, circuitState: upstreams.circuitState })
  const forward = createForward(upstreams, timeoutMs, { isTraced: environment.TRACE_UPSTREAMS })
  const supported = createSupported(facilitator, logger, now)
  const { findFeePayer } = supported
  const keys = createAccessKeyStore(database)
  const offerSecrets = [environment.OFFER_SIGNING_KEY, environment.OFFER_SIGNING_KEY_PREVIOUS].filter(
    (secret) => secret !== undefined,
  )
  const offerSigner =
    environment.OFFER_SIGNING_KEY === undefined
      ? undefined
      : createOfferSigner(offerSecrets, environment.PUBLIC_URL, now)
  const requirePaymentChoice = createPaymentChoice({
    catalog,
    findFeePayer,
    signInWithX,
    offerSigner,
    publicUrl: environment.PUBLIC_URL,
    freePerAddress: freeCredits.perAddress,
    metrics: paymentMetrics,
    logger,
  })
  const inFlight = createCallsInFlight()
  const requirePlanPayment = createPlanPayment(findFeePayer, paymentMetrics)
  const inSession = { catalog, sessions, buyCredits, payments, ledger, requirePlanPayment }
  const paidCall = createPaidCall({
    catalog,
    inFlight,
    countCalls: createCallMetrics(metrics),
    payInSession: createPayInSession(inSession),
    payFree: createPayFree({ freeCredits, ledger, requirePaymentChoice }),
    payByKey: createPayByKey({ keys, payments, ledger, requirePaymentChoice }),
    payByPayment: createPayByPayment({
      catalog,
      buyCredits,
      payments,
      identified: createIdentifiedPayments(database, store),
      offerSigner,
      ledger,
      requirePaymentChoice,
      publicUrl: environment.PUBLIC_URL,
      now,
    }),
    ledger,
    forward,
    freeTimeouts: creditBudget('timeouts', environment.FREE_TIMEOUTS_PER_MINUTE),
    freeRefusals: creditBudget('refusals', environment.FREE_REFUSALS_PER_MINUTE),
    freeUnknownMethods: createBudget({
      store,
      logger,
      name: 'unknown-methods',
      points: environment.FREE_UNKNOWN_METHODS_PER_MINUTE,
      durationSeconds: 60,
    }),
    logger,
  })

  const { pool } = database
  const deliveryWorker = createDeliveryWorker({
    pool,
    overdue: EMIT_OVERDUE,
    paidEvents: PAID_EVENTS,
    isProduction,
    logger,
    metrics,
    now,
  })
  const health = createHealth({
    checks: { postgres: async () => (await database.pool.query('SELECT 1')).rowCount === 1 },
  })
  const app = createApp({
    environment,
    logger,
    metrics,
    tracing,
    store,
    health,
    withSession: createGuard(sessions),
    auth: createAuthHandlers(nonces, signIn, sessions, domains),
    catalog: createCatalogHandlers(catalog, supported, environment.PUBLIC_URL),
    payments: createPaymentHandlers({
      buyInSession: createBuyInSession({ ...inSession, inFlight }),
      history,
      findSettlement: createSettlementLookup({ settlements: facilitator.settlements, logger }),
      resource: `${environment.PUBLIC_URL}/credits`,
    }),
    accounts: createAccountHandlers({
      ledger,
      history,
      usageReport: createUsageReport(database),
      now,
    }),
    rpc: createRpcHandlers(paidCall, catalog, resource),
    plain: createPlainHandlers({
      paidCall,
      requirePaymentChoice,
      catalog,
      sessions,
      signInPerRequest: createSignInPerRequest({ signInWithX, catalog, sessions, ledger, freeCredits }),
      freeCredits,
      keys,
      publicUrl: environment.PUBLIC_URL,
    }),
    payerAccounts: createPayerAccountHandlers({ catalog, forward: createForward(upstreams, payerTimeoutMs) }),
    offerSigner,
    keys: createKeyHandlers({ keys, sessions, catalog, publicUrl: environment.PUBLIC_URL, now }),
    webhooks: createWebhookHandlers(createEndpointStore(pool), createWire(sessions), { isProduction }),
    reference: createGatewayReference(environment, freeCredits, catalog),
    console: createConsole({
      folder: consoleFolder,
      developmentScript: environment.CONSOLE_DEVELOPMENT_SCRIPT,
      hasExplorerLinks: environment.CONSOLE_EXPLORER_LINKS,
    }),
    discovery: createDiscovery({ catalog, findFeePayer, publicUrl: environment.PUBLIC_URL, now }),
    now,
  })
  const loadCatalog = () => Promise.allSettled([catalog.readPlans(), catalog.readProviders()])
  return {
    app,
    health,
    loadCatalog,
    ledger,
    payments,
    settlements,
    processor,
    facilitatorSettlements: facilitator.settlements,
    upstreams,
    deliveryWorker,
  }
}
