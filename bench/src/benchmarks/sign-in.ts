import { join } from 'node:path'
import { Wallet } from 'ethers'
import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { openAccounts, SECRET } from '../gateway/accounts'
import { openGatewayClient, type GatewayClient } from '../gateway/client'
import { startGateway } from '../gateway/gateway'
import { runLanes } from '../lanes'
import { type NodeServer, startNodeServer } from '../node-server'
import { withCpuSeconds } from '../processes'
import { interleave, medianOf } from '../rounds'
import { openStores } from '../stores'

const CONNECTIONS = 32
const SIGN_INS = 2_000
const REFRESHES = 4_000
const WALLETS = Array.from({ length: 50 }, () => new Wallet(Wallet.createRandom().privateKey))

type GatewayStores = { databaseUrl: string; redisUrl: string }
type Sample = { perSecond: number; p50Ms: number; p99Ms: number; cpuMsEach: number }

const describe = ({ perSecond, p99Ms, cpuMsEach }: Sample) =>
  `${perSecond.toFixed(0)}/s, p99 ${p99Ms.toFixed(1)} ms, ${cpuMsEach.toFixed(3)} CPU ms each`

/** The first login compiles what the others use; a burst at that moment could time out. */
const warmUp = (api: GatewayClient) => api.signIn(new Wallet(Wallet.createRandom().privateKey))

async function prepareLogins(api: GatewayClient, count: number): Promise<string[]> {
  const wallets = Array.from({ length: count }, (_, index) => WALLETS[index % WALLETS.length])
  const logins: string[] = []
  await runLanes(CONNECTIONS, async () => {
    const wallet = wallets.pop()
    if (wallet) logins.push(await api.signLogin(wallet))
    return wallet !== undefined
  })
  return logins
}

/** Figures of a run, with the CPU time of the measured process only. */
async function measured({ pid }: NodeServer, send: (lane: number) => Promise<boolean>): Promise<Sample> {
  const { result, cpu } = await withCpuSeconds({ server: pid }, () => runLanes(CONNECTIONS, send))
  const { answers, perSecond, p50Ms, p99Ms } = result
  return { perSecond, p50Ms, p99Ms, cpuMsEach: (cpu.server / answers) * 1000 }
}

async function signInSample(server: NodeServer, api: GatewayClient, count: number): Promise<Sample> {
  const logins = await prepareLogins(api, count)
  return measured(server, async () => {
    const login = logins.pop()
    if (login !== undefined) await api.login(login)
    return login !== undefined
  })
}

/** Each connection refreshes a session of its own, with the token of the answer before. */
async function refreshSample(
  server: NodeServer,
  api: GatewayClient,
  tokens: string[],
  count: number,
): Promise<Sample> {
  let remaining = count
  return measured(server, async (lane) => {
    if (remaining-- <= 0) return false
    tokens[lane] = (await api.refresh(tokens[lane] ?? '')).refresh_token
    return true
  })
}

async function openTokens(api: GatewayClient): Promise<string[]> {
  const logins = await prepareLogins(api, CONNECTIONS)
  return Promise.all(logins.map(async (login) => (await api.login(login)).refresh_token))
}

async function measureSignIn(context: BenchmarkContext, stores: GatewayStores, gateway: NodeServer) {
  const verification = join(__dirname, '../peers/ethers-verification.js')
  const peer = await startGateway(context, stores, {
    name: 'ethers-gateway',
    nodeArguments: ['--require', verification],
  })
  const api = openGatewayClient(gateway, context, { connections: CONNECTIONS })
  const peerApi = openGatewayClient(peer, context, { connections: CONNECTIONS })
  const run = {
    tollgate: () => signInSample(gateway, api, SIGN_INS),
    ethers: () => signInSample(peer, peerApi, SIGN_INS),
  }
  await Promise.all([warmUp(api), warmUp(peerApi)])
  await run.tollgate()
  await run.ethers()
  const samples = await interleave(context, run, describe)
  await peer.stop()
  return compare(
    'sign-in',
    'the same sign-in, verified by ethers',
    'ethers',
    samples.tollgate,
    samples.ethers,
  )
}

async function measureRefresh(
  context: BenchmarkContext,
  { databaseUrl }: GatewayStores,
  gateway: NodeServer,
) {
  const peer = await startNodeServer(context, {
    name: 'conventional-refresh',
    args: [join(__dirname, '../peers/conventional-refresh.js')],
    environment: { NODE_ENV: 'production', DATABASE_URL: databaseUrl, JWT_SECRET: SECRET },
  })
  const api = openGatewayClient(gateway, context, { connections: CONNECTIONS })
  const peerApi = openGatewayClient(peer, context, { connections: CONNECTIONS })
  const [tokens, peerTokens] = [await openTokens(api), await openTokens(api)]
  const run = {
    tollgate: () => refreshSample(gateway, api, tokens, REFRESHES),
    conventional: () => refreshSample(peer, peerApi, peerTokens, REFRESHES),
  }
  await run.tollgate()
  await run.conventional()
  const samples = await interleave(context, run, describe)
  await peer.stop()
  const against = 'a conventional refresh (Express, Prisma transaction, token signed with a string)'
  return compare('refresh', against, 'conventional', samples.tollgate, samples.conventional)
}

function compare(
  what: 'sign-in' | 'refresh',
  against: string,
  peerName: string,
  ours: readonly Sample[],
  theirs: readonly Sample[],
): Comparison {
  const figures: Comparison['figures'] = {}
  for (const [name, samples] of [
    ['tollgate', ours],
    [peerName, theirs],
  ] as const) {
    figures[`${name} ${what}/s`] = medianOf(samples, ({ perSecond }) => perSecond)
    figures[`${name} ${what} CPU ms`] = medianOf(samples, ({ cpuMsEach }) => cpuMsEach)
    figures[`${name} ${what} p50 ms`] = medianOf(samples, ({ p50Ms }) => p50Ms)
    figures[`${name} ${what} p99 ms`] = medianOf(samples, ({ p99Ms }) => p99Ms)
  }
  const rate = (samples: readonly Sample[]) => medianOf(samples, ({ perSecond }) => perSecond)
  return {
    measured: `${what}, ${CONNECTIONS} connections, per second`,
    against,
    ratio: rate(ours) / rate(theirs),
    reach: { atLeast: 3 },
    figures,
  }
}

const number = (figure: number | string | undefined) => Number(figure ?? 0)

export const signIn: Benchmark = {
  name: 'sign-in',
  title: 'Sign-in and refresh',
  async run(context) {
    const { postgres, redis } = await openStores(context)
    const { databaseUrl } = await openAccounts(context, { postgres })
    const stores = { databaseUrl, redisUrl: redis.url }
    const gateway = await startGateway(context, stores)
    const signedIn = await measureSignIn(context, stores, gateway)
    const refreshed = await measureRefresh(context, stores, gateway)
    const bars = [
      { label: 'sign-in, Tollgate', value: number(signedIn.figures['tollgate sign-in/s']), own: true },
      { label: 'sign-in, ethers', value: number(signedIn.figures['ethers sign-in/s']) },
      { label: 'refresh, Tollgate', value: number(refreshed.figures['tollgate refresh/s']), own: true },
      { label: 'refresh, conventional', value: number(refreshed.figures['conventional refresh/s']) },
    ]
    return {
      comparisons: [signedIn, refreshed],
      charts: [{ name: 'rates', title: 'Sign-in and refresh', unit: 'per second, 32 connections', bars }],
    }
  },
}
