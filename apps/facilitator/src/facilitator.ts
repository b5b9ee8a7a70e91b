import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type FacilitatorDatabase } from '@tollgate/database'
import { createHealth, type EphemeralStore, type Logger, type Metrics } from '@tollgate/service'
import { createSurface } from './app'
import { createClientGuard } from './clients/guard'
import { createClientHandlers } from './clients/handlers'
import { createClientStore } from './clients/store'
import { type Configuration } from './config'
import { createNetworkHandlers } from './networks/handlers'
import { type Families } from './networks/network'
import { createNetworks } from './networks/networks'
import { createAssetStore } from './networks/store'
import { createFacilitator } from './payments/facilitator'
import { createPaymentHandlers } from './payments/handlers'
import { createNotices } from './payments/notices'
import { createOutcomes } from './payments/outcomes'
import { createSettler } from './payments/settler'
import { createSettlementStore } from './payments/store'
import { createVerdicts } from './payments/verdicts'
import { createAdminGuard, createUserGuard } from './users/guard'
import { createUserHandlers } from './users/handlers'
import { createPasswords } from './users/passwords'
import { createUserStore } from './users/store'
import { createTokens } from './users/tokens'

const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as {
  version: string
}

/** The parts of the facilitator joined together; nothing is under way before its parts are begun. */
export async function wireFacilitator(parts: {
  configuration: Configuration
  families: Families
  database: FacilitatorDatabase
  ephemeral: EphemeralStore
  logger: Logger
  metrics: Metrics
  now: () => Date
}) {
  const { configuration, families, database, ephemeral, logger, metrics, now } = parts
  const { environment } = configuration
  const { pool } = database

  const users = createUserStore(database)
  const tokens = createTokens(environment.JWT_SECRET, now)
  const passwords = await createPasswords()
  const clients = createClientStore(database)

  const networks = createNetworks({
    configured: configuration.networks,
    families,
    store: createAssetStore(database),
    logger,
  })
  const notices = createNotices({ pool, logger })
  const store = createSettlementStore(pool)
  const outcomes = createOutcomes({ store, notices, logger })
  const settlers = networks.all.flatMap((network) =>
    network.chain.signers.map((signer) => createSettler({ network, signer, pool, notices, logger, now })),
  )
  const facilitator = createFacilitator({
    networks,
    verdicts: createVerdicts({ store: ephemeral, ttlSeconds: environment.VERDICT_TTL_SECONDS, logger, now }),
    store,
    outcomes,
    settleWaitSeconds: environment.SETTLE_WAIT_SECONDS,
    logger,
    now,
  })
  const health = createHealth({
    facts: () => ({ timestamp: Math.floor(now().getTime() / 1000), version }),
    checks: {
      async postgres() {
        await pool.query('select 1')
        return true
      },
    },
  })
  const app = createSurface({
    environment,
    logger,
    metrics,
    store: ephemeral,
    health,
    withClient: createClientGuard(clients, now),
    withUser: createUserGuard(users, tokens),
    withAdmin: createAdminGuard(environment.ADMIN_TOKEN),
    payments: createPaymentHandlers(facilitator),
    networks: createNetworkHandlers(networks),
    users: createUserHandlers({ users, passwords, tokens, now }),
    clients: createClientHandlers(clients, now),
    now,
  })
  return { app, health, networks, notices, outcomes, settlers }
}

/** Connections beside those that requests share: one for notices, and one for each signer's lock. */
export const sessionsOf = ({ networks }: Configuration) =>
  1 + networks.reduce((count, { signerKeys }) => count + signerKeys.length, 0)
