import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createNotifications, type FacilitatorDatabase } from '@tollgate/database'
import {
  createBodyReader,
  createBudget,
  createConsole,
  createHealth,
  createKeyLimiter,
  createLimiter,
  isDevelopment,
  type EphemeralStore,
  type Logger,
  type Metrics,
  type Tracing,
} from '@tollgate/service'
import { createDeliveryWorker, createEndpointStore, createWebhookHandlers } from '@tollgate/webhooks'
import { createApp } from './app'
import { createCatalogStore } from './catalog/catalog-store'
import { createCataloger } from './catalog/cataloger'
import { createClientGuard } from './clients/guard'
import { createClientHandlers } from './clients/handlers'
import { createClientStore } from './clients/store'
import { type Configuration } from './config'
import { createDeniedAddressHandlers } from './denied-addresses/handlers'
import { createDeniedAddressStore } from './denied-addresses/store'
import { createInvitationHandlers } from './invitations/handlers'
import { createInvitationStore } from './invitations/store'
import { createMetricsHandlers } from './metrics/handlers'
import { createMetricsStore } from './metrics/store'
import { createHttpMetricsRecorder } from './metrics/http-metrics-recorder'
import { createCapabilityHandlers } from './networks/capabilities'
import { createNetworkHandlers } from './networks/handlers'
import { type Families } from './networks/network'
import { createNetworks } from './networks/networks'
import { createStatus } from './networks/status'
import { createAssetStore } from './networks/store'
import { createReadSupported } from './networks/supported'
import { createSettlementMetrics } from './settlement/metrics'
import { createOperatorHandlers } from './operations/admin/operator'
import { createMonitoring } from './operations/monitoring/monitoring'
import { createFeeBudget } from './settlement/signing/fee-budget'
import { createFeeShareStore } from './settlement/signing/fee-share-store'
import { createGrantStore } from './settlement/signing/grant-store'
import { createPaymentHandlers } from './payments/handlers'
import { measurePayments } from './payments/measured-payments'
import { createPaymentAccess } from './payments/payment-access'
import { createPaymentChecks } from './payments/payment-checks'
import { createSettle } from './payments/settle'
import { createSettlementWaiter } from './payments/settlement-waiter'
import { createSettler } from './settlement/settler'
import { createSettlementStore } from './payments/store'
import { createSettlementHandlers } from './settlements/handlers'
import { createMerchantSettlementStore } from './settlements/store'
import { createPaymentHandlersOfAnyVersion } from './payments/versions/any-version'
import { v1 } from './payments/versions/v1'
import { createPaymentHandlersV2 } from './payments/versions/v2'
import { createVerificationCache } from './payments/verification-cache'
import { createVerify } from './payments/verify'
import { createAddressProof } from './recipients/address-proof'
import { createChallenges } from './recipients/challenges'
import { createRecipientHandlers } from './recipients/handlers'
import { createRecipientStore } from './recipients/store'
import { createFacilitatorReference } from './reference/reference'
import { createReplicaName } from './replica-name'
import { createResourceHandlers } from './resources/handlers'
import { createOriginStore } from './resources/origins'
import { createOwnershipChecks } from './resources/ownership-checks'
import { createResourceStore } from './resources/store'
import { deleteAccount } from './users/delete-account'
import { createAdminLimit } from './users/admin-limit'
import { createAdminActionGuard, createAdminGuard, createUserGuard } from './users/guard'
import { createUserHandlers } from './users/handlers'
import { createLoginLimit } from './users/login-limit'
import { createPasswordHandlers } from './users/password-handlers'
import { createPasswordStore } from './users/password-store'
import { createPasswords } from './users/passwords'
import { createSessionHandlers } from './users/session-handlers'
import { createSessionStore } from './users/session-store'
import { createUserStore } from './users/store'
import { createTokens } from './users/tokens'
import { EMIT_OVERDUE } from './webhooks/overdue-sql'
import { PAID_EVENTS } from './webhooks/paid-events'
import { wire } from './webhooks/wire'

const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as {
  version: string
}

const consoleFolder = join(dirname(require.resolve('@tollgate/console/package.json')), 'dist/facilitator')

/** Wires the parts together. Nothing runs before `begin`. */
export async function composeFacilitator(parts: {
  configuration: Configuration
  families: Families
  database: FacilitatorDatabase
  ephemeral: EphemeralStore
  logger: Logger
  metrics: Metrics
  tracing: Tracing
  now: () => Date
}) {
  const { configuration, families, database, ephemeral, logger, metrics, tracing, now } = parts
  const { environment } = configuration
  const { pool } = database
  const replica = createReplicaName()

  const users = createUserStore(database)
  const sessions = createSessionStore(database)
  const tokens = createTokens(withPrevious(environment.JWT_SECRET, environment.JWT_SECRET_PREVIOUS), now)
  const passwords = await createPasswords()
  const clients = createClientStore(database)

  const networks = createNetworks({
    configured: configuration.networks,
    families,
    store: createAssetStore(database),
    logger,
  })
  const notifications = createNotifications({ pool, logger })
  const store = createSettlementStore(pool)
  const settlementWaiter = createSettlementWaiter({ store, notifications, logger })
  const settlementMetrics = createSettlementMetrics({ metrics, networks: networks.all, now })
  const feeShares = createFeeShareStore(pool)
  const shares = {
    clientKeyBps: environment.CLIENT_KEY_FEE_SHARE_PERCENT,
    newUserBps: environment.NEW_USER_FEE_SHARE_PERCENT,
    newUsersBps: environment.ALL_NEW_USERS_FEE_SHARE_PERCENT,
  }
  const feeBudget = createFeeBudget({ store: feeShares, grants: createGrantStore(pool), shares })
  const settlers = networks.all.flatMap((network) =>
    network.chain.signer.addresses.map((signer) =>
      createSettler({
        network,
        signer,
        replica,
        pool,
        feeBudget,
        notifications,
        metrics: settlementMetrics,
        tracing,
        logger,
        now,
      }),
    ),
  )
  const operations = createMonitoring({
    pool,
    metrics,
    logger,
    signers: networks.all.flatMap((network) =>
      settlers
        .filter((settler) => settler.network === network.name)
        .map((settler) => ({ ...settler, network })),
    ),
    now,
  })
  const metricsRecorder = createHttpMetricsRecorder({ pool, logger, now })
  const verificationCache = createVerificationCache({
    store: ephemeral,
    ttlSeconds: environment.VERIFICATION_CACHE_TTL_SECONDS,
    logger,
    now,
  })
  const checks = createPaymentChecks({
    verificationCache,
    feeBudget,
    checkAccess: createPaymentAccess(pool),
    arrivedMaxAgeSeconds: environment.ARRIVED_PAYMENT_MAX_AGE_SECONDS,
    now,
  })
  const verify = createVerify({ networks, verificationCache, checks, store, now })
  const settle = createSettle({
    networks,
    verificationCache,
    checks,
    store,
    settlementWaiter,
    settleTimeoutSeconds: environment.SETTLE_TIMEOUT_SECONDS,
    metricsRecorder,
    logger,
    now,
  })
  const pingDatabase = () => pool.query('SELECT 1')
  const health = createHealth({
    facts: () => ({ timestamp: Math.floor(now().getTime() / 1000), version }),
    checks: {
      async postgres() {
        await pingDatabase()
        return true
      },
    },
  })
  const limitUser = createLimiter({
    store: ephemeral,
    logger,
    name: 'users',
    points: environment.RATE_LIMIT_USERS_PER_MINUTE,
    durationSeconds: 60,
  })
  const limitPayments = createKeyLimiter({
    store: ephemeral,
    logger,
    name: 'client-payments',
    durationSeconds: 60,
  })
  const limitLogin = createLoginLimit({
    store: ephemeral,
    perMinute: environment.RATE_LIMIT_LOGINS_PER_MINUTE,
    logger,
  })
  const origins = createOriginStore(database)
  /** Our own requests go to this machine only if the mode allows it. */
  const isProduction = !isDevelopment(environment)
  const ownershipChecks = createOwnershipChecks({ origins, isProduction, logger, now })
  const cataloger = createCataloger({ store: createCatalogStore(database), networks, isProduction, logger })
  const deliveryWorker = createDeliveryWorker({
    pool,
    overdue: EMIT_OVERDUE,
    paidEvents: PAID_EVENTS,
    isProduction,
    logger,
    metrics,
    now,
  })
  const readSupported = createReadSupported(networks)
  const paymentOperations = { ...measurePayments({ verify, settle }, metrics), cataloger }
  const payments = createPaymentHandlers(paymentOperations, v1)
  const paymentsV2 = createPaymentHandlersV2(paymentOperations, networks, readSupported)
  const readBody = createBodyReader()
  const withAdmin = createAdminGuard(
    withPrevious(environment.ADMIN_TOKEN, environment.ADMIN_TOKEN_PREVIOUS),
    readBody,
    createAdminLimit({ store: ephemeral, perMinute: environment.RATE_LIMIT_ACCOUNTS_PER_MINUTE, logger }),
  )
  const app = createApp({
    environment,
    logger,
    metrics,
    tracing,
    metricsRecorder,
    store: ephemeral,
    health,
    readBody,
    withClient: createClientGuard(clients, readBody, limitPayments, now),
    withUser: createUserGuard({ users, tokens, readBody, limit: limitUser, now }),
    withAdmin,
    withAdminAction: createAdminActionGuard(withAdmin, logger),
    payments,
    paymentsV2,
    paymentsOfAnyVersion: createPaymentHandlersOfAnyVersion(payments, paymentsV2),
    capabilities: createCapabilityHandlers(readSupported, networks, environment.PUBLIC_URL),
    networks: createNetworkHandlers(networks, createStatus({ networks, pingDatabase, version })),
    users: createUserHandlers({
      users,
      sessions,
      passwords,
      tokens,
      signUp: environment.SIGN_UP,
      limitLogin,
      now,
    }),
    sessions: createSessionHandlers(sessions, now),
    passwords: createPasswordHandlers({
      store: createPasswordStore(pool),
      passwords,
      limitLogin,
      deleteAccount: (account) => deleteAccount(pool, account),
    }),
    clients: createClientHandlers(clients, now),
    invitations: createInvitationHandlers(createInvitationStore(pool)),
    recipients: createRecipientHandlers({
      recipients: createRecipientStore(pool),
      challenges: createChallenges({ store: ephemeral, publicUrl: environment.PUBLIC_URL, now }),
      isSigned: createAddressProof(configuration.networks),
      networks,
      users,
    }),
    deniedAddresses: createDeniedAddressHandlers(createDeniedAddressStore(pool), families),
    operator: createOperatorHandlers({ replica, pool, networks, families, feeShares, shares, logger, now }),
    resources: createResourceHandlers({
      resources: createResourceStore(database),
      origins,
      mayCheck: createBudget({
        store: ephemeral,
        logger,
        name: 'ownership',
        points: environment.OWNERSHIP_CHECKS_PER_MINUTE,
        durationSeconds: 60,
      }),
      networks,
      logger,
      now,
    }),
    measured: createMetricsHandlers(createMetricsStore(pool), now),
    settlements: createSettlementHandlers({
      settlements: createMerchantSettlementStore(pool),
      networks,
      families,
    }),
    webhooks: createWebhookHandlers(createEndpointStore(pool), wire, { isProduction }),
    reference: createFacilitatorReference(environment.PUBLIC_URL, version),
    console: createConsole({
      folder: consoleFolder,
      hasExplorerLinks: environment.CONSOLE_EXPLORER_LINKS,
    }),
    now,
  })
  return {
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
  }
}

/** Dedicated connections: one for notifications, and one for each signer's lock. */
export const sessionsOf = ({ networks }: Configuration) =>
  1 +
  networks.reduce(
    (count, { signerKeys, remoteSigners }) =>
      count + signerKeys.length + (remoteSigners?.publicPoints.length ?? 0),
    0,
  )

const withPrevious = (...secrets: (string | undefined)[]) => secrets.filter((secret) => secret !== undefined)
