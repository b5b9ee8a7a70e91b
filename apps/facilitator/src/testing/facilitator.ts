import { randomBytes } from 'node:crypto'
import { type AddressInfo } from 'node:net'
import { Writable } from 'node:stream'
import { families, type RemoteSignerSettings } from '@tollgate/chains'
import { openFacilitatorDatabase } from '@tollgate/database'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeLater, migratedDatabase } from '@tollgate/testing'
import {
  createLogger,
  createMetrics,
  createServer,
  openEphemeralStore,
  openTracing,
  type EphemeralStore,
  readEnvironment,
} from '@tollgate/service'
import { Wallet } from 'ethers'
import request from 'supertest'
import { Environment, type Configuration } from '../config'
import { sessionsOf, composeFacilitator } from '../facilitator'
import { type Families } from '../networks/network'
import { type NetworkConfiguration } from '../networks/settings'
import { newSigner, sharedChain } from './chain'

export type TestOptions = {
  /** The shared chain by default. */
  rpcUrl?: string
  moreRpcUrls?: readonly string[]
  rpcTimeoutMs?: number
  /** One new signer by default, with ether on the chain at `chainUrl`. */
  signerKeys?: readonly string[]
  /** Further signers; without `signerKeys` the only ones. */
  remoteSigners?: RemoteSignerSettings
  /** The chain itself, if `rpcUrl` is another node in front of it. */
  chainUrl?: string
  /** The database of another replica; a new one by default. */
  databaseUrl?: string
  families?: Families
  ephemeral?: EphemeralStore
  variables?: Record<string, string>
  now?: () => Date
  log?: NodeJS.WritableStream
  maxFeePerGas?: bigint
  maxFeesPerDay?: bigint
  maxGas?: bigint
  walletFactories?: readonly string[]
  networks?: readonly Partial<NetworkConfiguration>[]
}

const nowhere = () => new Writable({ write: (_chunk, _encoding, done) => done() })

export type TestFacilitator = Awaited<ReturnType<typeof testFacilitator>>

export async function testFacilitator(options: TestOptions = {}) {
  const { rpcUrl = sharedChain(), chainUrl = rpcUrl, now = () => new Date() } = options
  const { signerKeys = options.remoteSigners ? [] : [(await newSigner(chainUrl)).privateKey] } = options
  const databaseUrl = options.databaseUrl ?? (await migratedDatabase('facilitator'))
  const settings = { ...options, rpcUrl, signerKeys, databaseUrl }
  const configuration = configurationOf(settings)
  const logger = createLogger({ service: 'facilitator', level: 'debug', stream: options.log ?? nowhere() })
  const database = openFacilitatorDatabase({ url: databaseUrl, poolSize: 10 + sessionsOf(configuration) })
  const ephemeral =
    options.ephemeral ??
    (await openEphemeralStore({
      redisUrl: process.env.TEST_REDIS_URL,
      prefix: `${randomBytes(8).toString('hex')}:`,
      logger,
    }))
  const metrics = createMetrics()
  const tracing = await openTracing(configuration.environment, { service: 'facilitator', logger })
  const facilitator = await composeFacilitator({
    configuration,
    families: options.families ?? families,
    database,
    ephemeral,
    logger,
    metrics,
    tracing,
    now,
  })
  const {
    app,
    networks,
    notifications,
    operations,
    settlers,
    settlementWaiter,
    metricsRecorder,
    deliveryWorker,
  } = facilitator
  networks.watchNodes()
  await networks.registerConfigured()
  metricsRecorder.begin()
  notifications.begin()
  for (const settler of settlers) settler.begin()
  operations.begin()
  const server = createServer(app).listen(0)

  let closed: Promise<void> | undefined
  async function closeParts() {
    server.closeAllConnections()
    server.close()
    settlementWaiter.close()
    await deliveryWorker.close()
    await operations.close()
    await Promise.all(settlers.map((settler) => settler.close()))
    await notifications.close()
    await metricsRecorder.close()
    networks.close()
    await ephemeral.close()
    await tracing.close()
    await database.close()
  }
  const close = () => (closed ??= closeParts())
  closeLater(close)

  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const scrape = () => metrics.register.metrics()
  return {
    ...facilitator,
    api: request(server),
    url,
    ephemeral,
    database,
    databaseUrl,
    scrape,
    close,
    /** Starts a replica of this facilitator. */
    settings,
    signers: signerKeys.map((key) => new Wallet(key)),
  }
}

/** It always answers, on a busy machine late. */
const SHARED_CHAIN_TIMEOUT_MS = 30_000

type Settings = TestOptions & Required<Pick<TestOptions, 'rpcUrl' | 'signerKeys' | 'databaseUrl'>>

function configurationOf(options: Settings): Configuration {
  const {
    rpcUrl,
    signerKeys,
    databaseUrl,
    variables = {},
    rpcTimeoutMs = 2_000,
    maxFeePerGas = 100_000_000_000n,
    maxFeesPerDay,
    maxGas = 300_000n,
    walletFactories = [],
  } = options
  const isShared = rpcUrl === sharedChain() && options.moreRpcUrls === undefined
  const environment = readEnvironment(Environment, {
    NODE_ENV: 'test',
    DATABASE_URL: databaseUrl,
    NETWORKS_FILE: 'not read',
    JWT_SECRET: randomBytes(32).toString('hex'),
    RATE_LIMIT_ACCOUNTS_PER_MINUTE: '1000000',
    RATE_LIMIT_PAYMENTS_PER_MINUTE: '1000000',
    RATE_LIMIT_READS_PER_MINUTE: '1000000',
    RATE_LIMIT_LISTS_PER_MINUTE: '1000000',
    RATE_LIMIT_USERS_PER_MINUTE: '1000000',
    RATE_LIMIT_LOGINS_PER_MINUTE: '1000000',
    NEW_USER_FEE_SHARE_PERCENT: '100',
    ALL_NEW_USERS_FEE_SHARE_PERCENT: '100',
    CLIENT_KEY_FEE_SHARE_PERCENT: '100',
    OWNERSHIP_CHECKS_PER_MINUTE: '1000000',
    ...variables,
  })
  const network: NetworkConfiguration = {
    name: 'base-sepolia',
    ecosystem: 'evm',
    chainId: '84532',
    rpcUrls: [rpcUrl, ...(options.moreRpcUrls ?? [])],
    rpcTimeoutMs: isShared ? (options.rpcTimeoutMs ?? SHARED_CHAIN_TIMEOUT_MS) : rpcTimeoutMs,
    signerKeys,
    ...(options.remoteSigners && { remoteSigners: options.remoteSigners }),
    confirmations: 1,
    minRemainingValiditySeconds: 6,
    maxGas,
    ...(maxFeesPerDay === undefined ? {} : { maxFeesPerDay }),
    own: { maxFeePerGas, walletFactories },
    assets: [{ asset: USDC_ADDRESS, symbol: 'USDC', decimals: 6 }],
  }
  const others = (options.networks ?? []).map((other) => ({
    ...network,
    rpcTimeoutMs,
    signerKeys: [],
    assets: [],
    ...other,
  }))
  return { environment, networks: [network, ...others] }
}

export type Api = TestFacilitator['api']
export type ClientHeaders = { 'X-Client-ID': string; 'X-Client-Token': string }

export async function newUser(api: Api): Promise<{ email: string; password: string; accessToken: string }> {
  const email = `${randomBytes(8).toString('hex')}@example.com`
  const password = randomBytes(12).toString('hex')
  await api.post('/api/v1/signup').send({ email, password }).expect(200)
  const login = await api.post('/api/v1/login').send({ email, password }).expect(200)
  const { data } = login.body as { data: { access_token: string } }
  return { email, password, accessToken: data.access_token }
}

export async function newClient(api: Api, body: object = {}): Promise<ClientHeaders> {
  const { accessToken } = await newUser(api)
  const answer = await api
    .post('/api/v1/clients')
    .set('Authorization', `Bearer ${accessToken}`)
    .send({ title: 'Test', ...body })
    .expect(200)
  const { client } = (answer.body as { data: { client: { clientId: string; token: string } } }).data
  return { 'X-Client-ID': client.clientId, 'X-Client-Token': client.token }
}
