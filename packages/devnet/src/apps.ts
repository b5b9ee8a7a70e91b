import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { COSMOS_CHAIN_ID, developmentCosmosPayTo, developmentCosmosSigner } from '@tollgate/cosmos-devchain'
import { type ProcessExit } from '@tollgate/processes'
import { obtainClientKey } from './client-key'
import { USDC_ADDRESS } from './evm/deploy'
import { writeDevelopmentScript } from './development-script'
import { developmentPayTo, developmentSigners } from './evm/wallets'
import { type Infrastructure } from './infrastructure'
import { type ProcessGroup } from './process-group'
import { reserveRecipients } from './reserve-recipients'
import { terminal, timed } from './terminal'
import { startService, type RunningService } from './services'
import { type Secrets, type State } from './state'

export type Apps = {
  gateway: RunningService
  /** Starts another gateway process with the same stores, facilitator and public URL, on a separate port. */
  addGateway: (replica?: Replica) => Promise<RunningService>
  facilitator: RunningService
  /** Starts another facilitator process, likewise. */
  addFacilitator: (replica?: Replica) => Promise<RunningService>
  infrastructure: Infrastructure
  serviceName: string
  secrets: Secrets
  /** The gateway's client key at the facilitator. */
  clientKey: NonNullable<Secrets['clientKey']>
  plan: typeof plan
  cosmosPlan: typeof cosmosPlan
}

/** How an additional process differs from the first one. */
export type Replica = {
  /** The root of another built checkout, as of another version. */
  root?: string
  /** Additional or replaced variables. */
  environment?: NodeJS.ProcessEnv
}

/** Changes to the configuration of `npm start`, for tests. */
export type Overrides = {
  /** Additional or replaced variables of one process; `name` is that of its log: "facilitator", "facilitator-2". */
  environment?: (name: string) => NodeJS.ProcessEnv
  /** Settings of the facilitator's EVM network, likewise. `rpcUrl` is that of the chain. */
  network?: (rpcUrl: string) => Record<string, unknown>
  /** Settings of its Cosmos network, likewise. */
  cosmosNetwork?: (rpcUrl: string) => Record<string, unknown>
}

const SERVICE_NAME = 'Tollgate'
/** Higher than the requests of any test from one address. */
const WIDE_LIMIT = '1000000'
/** Higher than the fees of a day of tests: a thousand ETH in wei, and a million ATOM in uatom. */
const WIDE_FEES = { evm: '1000000000000000000000', cosmos: '1000000000000' }

const network = { name: 'base-sepolia', ecosystem: 'evm', chain_id: '84532' }
const cosmosNetwork = { name: COSMOS_CHAIN_ID, ecosystem: 'cosmos', chain_id: COSMOS_CHAIN_ID }
export const COSMOS_PREFIX = 'cosmos'

/** One cent for a hundred calls: below the default spending limit of public x402 clients. */
const plan = {
  id: 1,
  plan_name: 'Base Sepolia starter',
  network: network.name,
  chain_id: network.chain_id,
  ecosystem: network.ecosystem,
  asset_address: USDC_ADDRESS,
  asset_name: 'USDC',
  asset_version: '2',
  amount: '10000',
  decimals: 6,
  display_denom: 'USDC',
  credits: 100,
  pay_to: developmentPayTo.address,
}

const cosmosPlan = {
  id: 2,
  plan_name: 'Cosmos starter',
  network: cosmosNetwork.name,
  chain_id: cosmosNetwork.chain_id,
  ecosystem: cosmosNetwork.ecosystem,
  asset_address: 'uatom',
  amount: '10000',
  decimals: 6,
  display_denom: 'ATOM',
  credits: 100,
  pay_to: developmentCosmosPayTo.address,
}

type Environment = NodeJS.ProcessEnv

/** The facilitator, the gateway's key from it, the catalog, and the gateway. */
export async function startApps(options: {
  root: string
  state: State
  processes: ProcessGroup
  infrastructure: Infrastructure
  watch: boolean
  usualPorts: boolean
  overrides: Overrides
  onRestart: (apps: Apps) => void
}): Promise<Apps> {
  const { root, state, processes, infrastructure, watch, usualPorts, overrides, onRestart } = options
  const secrets = state.secrets()
  mkdirSync(state.at('logs'), { recursive: true })
  const redis: Environment =
    infrastructure.redisUrl === undefined ? {} : { REDIS_URL: infrastructure.redisUrl }

  const running: { apps?: Apps } = {}
  const shared = (name: 'gateway' | 'facilitator', logName: string = name) => ({
    name,
    root,
    watch,
    logFile: state.at('logs', `${logName}.log`),
    onCrash: ({ code, signal }: ProcessExit) =>
      terminal.warn(`${name} ended unexpectedly (${signal ?? `code ${code ?? '?'}`}); restarting it`),
    onRestart: () => {
      terminal.fact(name, 'is up again')
      // Undefined until both services have started.
      if (running.apps) onRestart(running.apps)
    },
  })

  const startFacilitator = (logName: string, publicUrl?: string, replica: Replica = {}) =>
    processes.addApp(
      startService({
        ...shared('facilitator', logName),
        root: replica.root ?? root,
        preferredPort: usualPorts ? 8081 : undefined,
        preferredMetricsPort: usualPorts ? 9081 : undefined,
        environment: ({ url }) => ({
          ...redis,
          PUBLIC_URL: publicUrl ?? url,
          ...facilitatorEnvironment(state, infrastructure, secrets, overrides),
          CONSOLE_EXPLORER_LINKS: 'false',
          ...overrides.environment?.(logName),
          ...replica.environment,
        }),
      }),
    )
  const facilitator = await timed(
    'facilitator',
    () => startFacilitator('facilitator'),
    ({ url }) => url,
  )
  let facilitators = 1
  const addFacilitator = (replica?: Replica) =>
    startFacilitator(`facilitator-${++facilitators}`, facilitator.url, replica)
  const apiUrl = `${facilitator.url}/api/v1`
  const clientKey = await timed(
    'client key',
    () => obtainClientKey(apiUrl, secrets),
    ({ clientId }) => clientId,
  )
  state.keepSecrets({ ...secrets, clientKey })
  await timed(
    'recipients',
    () => reserveRecipients(apiUrl, secrets, [plan, cosmosPlan]),
    () => 'those of the plans are reserved for the gateway',
  )
  await timed(
    'catalog',
    () => applyCatalog(root, state, infrastructure),
    () => [plan, cosmosPlan].map(({ id, plan_name }) => `plan ${id}: ${plan_name}`).join(', '),
  )

  const developmentScript = writeDevelopmentScript(root, state, {
    evmChainId: network.chain_id,
    cosmosPrefix: COSMOS_PREFIX,
  })
  const startGateway = (logName: string, publicUrl?: string, replica: Replica = {}) =>
    processes.addApp(
      startService({
        ...shared('gateway', logName),
        root: replica.root ?? root,
        preferredPort: usualPorts ? 8080 : undefined,
        preferredMetricsPort: usualPorts ? 9090 : undefined,
        environment: ({ port, url }) => ({
          ...redis,
          PUBLIC_URL: publicUrl ?? url,
          SIGN_IN_DOMAINS: `${SERVICE_NAME},localhost:${port},127.0.0.1:${port}`,
          NODE_ENV: 'development',
          DATABASE_URL: infrastructure.postgres.gateway,
          JWT_SECRET: secrets.gatewayJwt,
          CONSOLE_DEVELOPMENT_SCRIPT: developmentScript,
          CONSOLE_EXPLORER_LINKS: 'false',
          ...(secrets.gatewayOffers === undefined ? {} : { OFFER_SIGNING_KEY: secrets.gatewayOffers }),
          FACILITATOR_URL: apiUrl,
          FACILITATOR_CLIENT_ID: clientKey.clientId,
          FACILITATOR_CLIENT_TOKEN: clientKey.token,
          RATE_LIMIT_AUTH_PER_MINUTE: WIDE_LIMIT,
          RATE_LIMIT_RPC_PER_MINUTE: WIDE_LIMIT,
          RATE_LIMIT_READS_PER_MINUTE: WIDE_LIMIT,
          FREE_TIMEOUTS_PER_MINUTE: WIDE_LIMIT,
          FREE_REFUSALS_PER_MINUTE: WIDE_LIMIT,
          FREE_UNKNOWN_METHODS_PER_MINUTE: WIDE_LIMIT,
          RATE_LIMIT_PAYMENTS_PER_MINUTE: WIDE_LIMIT,
          FACILITATOR_REQUESTS_PER_MINUTE: WIDE_LIMIT,
          RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: WIDE_LIMIT,
          ...freeCreditsOf(process.env),
          ...overrides.environment?.(logName),
          ...replica.environment,
        }),
      }),
    )
  const gateway = await timed(
    'gateway',
    () => startGateway('gateway'),
    ({ url }) => url,
  )
  let gateways = 1
  const addGateway = (replica?: Replica) => startGateway(`gateway-${++gateways}`, gateway.url, replica)

  running.apps = {
    gateway,
    addGateway,
    facilitator,
    addFacilitator,
    infrastructure,
    serviceName: SERVICE_NAME,
    secrets,
    clientKey,
    plan,
    cosmosPlan,
  }
  return running.apps
}

/** The reader of docs/operate/free-first-calls.md sets them for `npm start`. */
const freeCreditsOf = (environment: Environment): Environment =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => name.startsWith('FREE_CREDITS_')))

function facilitatorEnvironment(
  state: State,
  { postgres, rpcUrl, cosmos }: Infrastructure,
  secrets: Secrets,
  altered: Overrides,
): Environment {
  const asset = { asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6, min_amount: '1' }
  const networks = [
    {
      ...network,
      rpc_urls: [rpcUrl],
      signer_keys: 'env:BASE_SEPOLIA_SIGNER_KEYS',
      max_fees_per_day: WIDE_FEES.evm,
      assets: [asset],
      ...altered.network?.(rpcUrl),
    },
    {
      ...cosmosNetwork,
      rpc_urls: [cosmos.rpcUrl],
      signer_keys: 'env:COSMOS_SIGNER_KEY',
      bech32_prefix: COSMOS_PREFIX,
      fee_denom: 'uatom',
      gas_price: '0.025',
      gasless_max_fee: '10000',
      max_fees_per_day: WIDE_FEES.cosmos,
      assets: [{ asset: 'uatom', symbol: 'ATOM', decimals: 6, min_amount: '1' }],
      ...altered.cosmosNetwork?.(cosmos.rpcUrl),
    },
  ]
  return {
    NODE_ENV: 'development',
    DATABASE_URL: postgres.facilitator,
    // JSON is valid YAML.
    NETWORKS_FILE: state.writeJson('networks.yaml', networks),
    BASE_SEPOLIA_SIGNER_KEYS: developmentSigners.map(({ privateKey }) => privateKey).join(','),
    COSMOS_SIGNER_KEY: developmentCosmosSigner.privateKey,
    JWT_SECRET: secrets.facilitatorJwt,
    ADMIN_TOKEN: secrets.adminToken,
    RATE_LIMIT_ACCOUNTS_PER_MINUTE: WIDE_LIMIT,
    RATE_LIMIT_PAYMENTS_PER_MINUTE: WIDE_LIMIT,
    RATE_LIMIT_READS_PER_MINUTE: WIDE_LIMIT,
    RATE_LIMIT_LISTS_PER_MINUTE: WIDE_LIMIT,
    RATE_LIMIT_USERS_PER_MINUTE: WIDE_LIMIT,
    RATE_LIMIT_LOGINS_PER_MINUTE: WIDE_LIMIT,
    SIGN_UP: 'open',
    NEW_USER_FEE_SHARE_PERCENT: '100',
    ALL_NEW_USERS_FEE_SHARE_PERCENT: '100',
    CLIENT_KEY_FEE_SHARE_PERCENT: '100',
    OWNERSHIP_CHECKS_PER_MINUTE: WIDE_LIMIT,
  }
}

async function applyCatalog(root: string, state: State, { postgres, rpcUrl, cosmos }: Infrastructure) {
  const provider = {
    provider_id: 'devnet',
    category: network.ecosystem,
    chain_id: network.chain_id,
    rpc: [rpcUrl],
    description: 'The EVM chain of this development network',
  }
  const cosmosProvider = {
    provider_id: 'devnet-cosmos',
    category: cosmosNetwork.ecosystem,
    chain_id: cosmosNetwork.chain_id,
    rpc: [cosmos.rpcUrl],
    description: 'The Cosmos chain of this development network',
  }
  const catalog = { plans: [plan, cosmosPlan], providers: [provider, cosmosProvider] }
  const file = state.writeJson('catalog.yaml', catalog)
  const command = join(root, 'apps/gateway/bin/gateway.js')
  await promisify(execFile)(process.execPath, [command, 'catalog', 'apply', file], {
    env: { ...process.env, DATABASE_URL: postgres.gateway },
    timeout: 30_000,
  })
}
