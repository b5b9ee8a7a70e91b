import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { developmentPayTo, developmentWallets, USDC_ADDRESS } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { request } from 'undici'
import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { startBlockNumberUpstream } from '../block-number-upstream'
import { createFacilitatorStores, NETWORK, startFacilitator } from '../facilitator-service'
import { type Accounts, openAccounts } from '../gateway/accounts'
import { openGatewayClient } from '../gateway/client'
import { startGateway } from '../gateway/gateway'
import { type NodeServer } from '../node-server'
import { createPaymentSigner } from '../payment-signer'
import { residentBytes } from '../processes'
import { median } from '../rounds'
import { openStores } from '../stores'
import { runWrk } from '../wrk'

const MIB = 1_048_576
const SAMPLE_MS = 1_000
const IDLE_SECONDS = 10
const PAYMENTS = 5_000
const AMOUNT = '10000'
const CREDITS = 1_000_000_000

const blockNumberCall = {
  ecosystem: 'evm',
  chain_id: '84532',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
}

type Load = {
  server: NodeServer
  connections: number
  path: string
  headers: Record<string, string>
  script: string
}

/** Paid calls of ten wallets in turn. */
async function openPaidCalls(
  context: BenchmarkContext,
  accounts: Accounts,
  server: NodeServer,
): Promise<Load> {
  const client = openGatewayClient(server, context, { connections: 1 })
  const tokens: string[] = []
  for (const { privateKey } of developmentWallets) {
    const wallet = new Wallet(privateKey)
    await accounts.fund(wallet.address, CREDITS)
    tokens.push((await client.signIn(wallet)).token)
  }
  const script = inTurn(
    tokens.map(
      (token) =>
        `wrk.format("POST", nil, {["authorization"] = "Bearer ${token}", ["content-type"] = "application/json"}, [[${JSON.stringify(blockNumberCall)}]])`,
    ),
  )
  return { server, connections: 64, path: '/rpc', headers: {}, script }
}

/** A request of each of these Lua expressions, in turn. */
const inTurn = (requests: readonly string[]) => `
local requests, turn = {}, 0
function init()
${requests.map((request) => `  requests[#requests + 1] = ${request}`).join('\n')}
end
function request()
  turn = turn % #requests + 1
  return requests[turn]
end`

async function newClientKey({ url }: NodeServer): Promise<Record<string, string>> {
  const post = async <Data>(path: string, body: object, headers = {}) => {
    const answer = await request(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (answer.statusCode !== 200) throw new Error(`${path} was answered ${answer.statusCode}`)
    return ((await answer.body.json()) as { data: Data }).data
  }
  const account = { email: 'bench@example.com', password: randomBytes(16).toString('hex') }
  await post('/signup', account)
  const { access_token } = await post<{ access_token: string }>('/login', account)
  const authorization = { authorization: `Bearer ${access_token}` }
  const { client } = await post<{ client: { clientId: string; token: string } }>(
    '/clients',
    { title: 'Bench' },
    authorization,
  )
  return { 'x-client-id': client.clientId, 'x-client-token': client.token }
}

/** `/verify` of distinct payments in turn, most of which are no longer cached when their turn comes again. */
async function openVerifications(server: NodeServer): Promise<Load> {
  const headers = { ...(await newClientKey(server)), 'content-type': 'application/json' }
  const payment = createPaymentSigner({
    network: NETWORK.name,
    chain_id: NETWORK.chain_id,
    asset_address: USDC_ADDRESS,
    asset_name: 'USDC',
    asset_version: '2',
    pay_to: developmentPayTo.address,
    amount: AMOUNT,
  })
  const wallets = developmentWallets.map(({ privateKey }) => new Wallet(privateKey))
  const bodies: string[] = []
  while (bodies.length < PAYMENTS) bodies.push(...wallets.map(payment.bodyV1))
  const script = inTurn(bodies.map((body) => `wrk.format("POST", nil, nil, [[${body}]])`))
  return { server, connections: 16, path: '/api/v1/verify', headers, script }
}

/** Every second, in MiB. */
function sampleMemory({ pid }: NodeServer) {
  const samples: number[] = []
  const timer = setInterval(() => samples.push(residentBytes(pid) / MIB), SAMPLE_MS)
  return () => {
    clearInterval(timer)
    return samples
  }
}

async function sampleIdle(server: NodeServer): Promise<number> {
  const stop = sampleMemory(server)
  await delay(IDLE_SECONDS * 1000)
  return median(stop())
}

async function sampleLoaded({ folder, memoryMinutes }: BenchmarkContext, load: Load): Promise<number[]> {
  const { server, connections, path, headers, script } = load
  const stop = sampleMemory(server)
  const url = `${server.url}${path}`
  const result = await runWrk({ url, connections, seconds: memoryMinutes * 60, headers, script, folder })
  if (result.failedAnswers > result.requests / 1_000)
    throw new Error(`${path}: ${result.failedAnswers} of ${result.requests} answers were errors`)
  return stop()
}

/** Growth compares the last tenth of the load with the second one: in the first, caches fill and the heap takes its size. */
function compare(service: string, minutes: number, idle: number, loaded: readonly number[]): Comparison[] {
  const tenth = Math.max(1, Math.floor(loaded.length / 10))
  const early = median(loaded.slice(tenth, 2 * tenth))
  const late = median(loaded.slice(-tenth))
  const after = `after ${minutes} min of load`
  const limit = { against: '200 MiB', reach: { below: 1 } }
  return [
    {
      ...limit,
      measured: `${service}, resident memory, idle`,
      ratio: idle / 200,
      figures: { [`${service}, idle, MiB`]: idle },
    },
    {
      ...limit,
      measured: `${service}, resident memory, ${after}`,
      ratio: late / 200,
      figures: { [`${service}, ${after}, MiB`]: late, [`${service}, largest, MiB`]: Math.max(...loaded) },
    },
    {
      measured: `${service}, resident memory, last tenth of the load`,
      against: 'second tenth of the load',
      ratio: late / early,
      reach: { below: 1.05 },
      figures: { [`${service}, second tenth of the load, MiB`]: early },
    },
  ]
}

export const memory: Benchmark = {
  name: 'memory',
  title: 'Memory',
  async run(context) {
    const { memoryMinutes, progress } = context
    const stores = await openStores(context)
    const upstreamUrl = await startBlockNumberUpstream(context)
    const accounts = await openAccounts(context, { postgres: stores.postgres, upstreamUrl })
    const { databaseUrl } = accounts
    const gateway = await startGateway(context, { databaseUrl, redisUrl: stores.redis.url })
    const facilitator = await startFacilitator(context, await createFacilitatorStores(context, stores))
    const idle = { gateway: await sampleIdle(gateway), facilitator: await sampleIdle(facilitator) }

    const calls = await openPaidCalls(context, accounts, gateway)
    const verifications = await openVerifications(facilitator)
    progress(`${memoryMinutes} minutes of load on both services`)
    const [ofGateway, ofFacilitator] = await Promise.all([
      sampleLoaded(context, calls),
      sampleLoaded(context, verifications),
    ])
    const comparisons = [
      ...compare('gateway', memoryMinutes, idle.gateway, ofGateway),
      ...compare('facilitator', memoryMinutes, idle.facilitator, ofFacilitator),
    ]
    const bars = comparisons.flatMap(({ figures }) =>
      Object.entries(figures).map(([figure, value]) => ({
        label: figure.replace(', MiB', ''),
        value: Number(value),
        own: true,
      })),
    )
    return { comparisons, charts: [{ name: 'resident', title: 'Resident memory', unit: 'MiB', bars }] }
  },
}
