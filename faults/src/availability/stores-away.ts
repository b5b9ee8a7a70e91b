import { setTimeout as delay } from 'node:timers/promises'
import { startPostgres, startRedis } from '@tollgate/devnet'
import { type World } from '@tollgate/e2e/testing/world'
import { join } from 'node:path'
import { playRounds } from '../environment'
import { type Row, type Scenario, type Stage } from '../scenario'
import { startDeployment, type Deployment } from './deployment'
import { type Sent } from './requests'
import { countRequests, DESCRIPTION, startTraffic } from './traffic'

const REDIS_AWAY_MS = 60_000
const POSTGRES_AWAY_MS = 15_000
const BEFORE_MS = 3_000
const AFTER_MS = 8_000
const RECOVERED_WITHIN_MS = 5_000
/** Errors that a request may get while a store is away; nothing may be charged. */
const AWAY_CODES = ['UNAVAILABLE', 'OVERLOADED']

const REDIS_HELP = `Two gateways and two facilitators behind nginx, under load: ${DESCRIPTION}.
  Each round kills Redis (kill -9) and starts it again, empty, a minute later. Meanwhile only sign-in may be refused, by 503 with
  Retry-After; afterwards it must work again by itself within five seconds. Needs nginx and redis-server.`

const POSTGRES_HELP = `As redis-away, with Postgres: in odd rounds it is stopped with \`fast\`, in even rounds by kill -9, and
  started again after ${POSTGRES_AWAY_MS / 1000} seconds. Within five seconds after it accepts connections a paid call must be served and a payment
  settled. Meanwhile every request must be served, or refused by 503 with Retry-After (by /settle and /verify also
  with SETTLEMENT_FAILED and VERIFICATION_FAILED, to be repeated); none may be lost. Needs nginx.`

export type Outage = {
  fault: string
  where: string
  outcome: string
  awayMs: number
  stop(world: World): unknown
  start(world: World): Promise<void>
}

const postgresOutage = (fault: string, signal: NodeJS.Signals): Outage => ({
  fault,
  where: 'Postgres',
  outcome:
    'Every request is served, or refused by 503 with Retry-After (by /settle and /verify also with SETTLEMENT_FAILED and VERIFICATION_FAILED, to be repeated). Within 5 s after Postgres accepts connections calls are served and payments settled. No payment is lost.',
  awayMs: POSTGRES_AWAY_MS,
  stop: ({ infrastructure }) => void process.kill(infrastructure.postgres.server.pid, signal),
  async start({ infrastructure, folder }) {
    const { server } = infrastructure.postgres
    const again = await startPostgres({ folder: join(folder, 'postgres'), port: server.port })
    Object.assign(server, { pid: again.pid, stop: again.stop })
  },
})

const postgresOutages: readonly Outage[] = [
  postgresOutage('Postgres is stopped with `fast` under load, and started again', 'SIGINT'),
  postgresOutage('Postgres is killed (kill -9) under load, and started again', 'SIGKILL'),
]

const redisOutage: Outage = {
  fault: 'Redis is killed (kill -9) under load, and started again a minute later, empty',
  where: 'Redis',
  outcome: 'Only sign-in is refused, by 503 with Retry-After, and works again by itself within 5 s.',
  awayMs: REDIS_AWAY_MS,
  stop: ({ infrastructure }) => void process.kill(infrastructure.redis?.pid ?? 0, 'SIGKILL'),
  async start({ infrastructure, folder }) {
    const port = infrastructure.redis?.port
    if (port === undefined) return
    const again = await startRedis({ folder: join(folder, 'redis'), port })
    if (again) Object.assign(infrastructure.redis ?? {}, { pid: again.pid, stop: again.stop })
  },
}

type Played = {
  outage: Outage
  requests: number
  refused: number
  pending: number
  payments: number
  seconds: number
}

type Check = (
  sent: readonly Sent[],
  times: { stoppedAt: number; backAt: number },
) => { problems: string[]; seconds: number }

export type StoreFault = {
  outages: readonly Outage[]
  /** Before the traffic starts; returns problems. */
  prepare?: (stage: Stage, deployment: Deployment) => Promise<string[]>
}

export const storesAway = (
  name: string,
  help: string,
  rounds: number,
  { outages, prepare = () => Promise.resolve([]) }: StoreFault,
  check: Check,
): Scenario => ({
  name,
  help,
  rounds,
  async run(stage) {
    const deployment = await startDeployment(stage)
    const unprepared = await prepare(stage, deployment)
    const traffic = await startTraffic(stage, deployment)
    const played: Played[] = []
    const problems = await playRounds(stage, (round) =>
      playRound(outages[(round - 1) % outages.length] as Outage),
    )
    await traffic.stop()
    problems.push(...unprepared, ...(await traffic.audit(AWAY_CODES)).problems)
    return { problems, rows: outages.flatMap((outage) => rowsOf(outage, played)) }

    async function playRound(outage: Outage): Promise<string[]> {
      const before = { sent: traffic.sent.length, paid: await traffic.paid() }
      await delay(BEFORE_MS)
      const stoppedAt = Date.now()
      await outage.stop(deployment.world)
      await delay(outage.awayMs)
      await outage.start(deployment.world)
      const backAt = Date.now()
      await delay(AFTER_MS)
      const sent = traffic.sent.slice(before.sent)
      const { all, pending, away, failed, examples } = countRequests(sent)
      const checked = check(sent, { stoppedAt, backAt })
      const payments = (await traffic.paid()) - before.paid
      played.push({ outage, requests: all, refused: away, pending, payments, seconds: checked.seconds })
      stage.say(
        `· ${outage.where} away for ${((backAt - stoppedAt) / 1000).toFixed(1)} s: ${all} requests, ${away} refused, ${pending} pending, ` +
          `${failed} failed; in order ${checked.seconds.toFixed(1)} s after it accepts connections`,
      )
      return [
        ...checked.problems,
        ...(failed > 0 ? [`${failed} of ${all} requests failed: ${examples.join('; ')}`] : []),
      ]
    }
  },
})

/** Seconds from `at` until the first request of this kind that was sent and served since. */
function secondsUntil(sent: readonly Sent[], at: number, isKind: (actor: string) => boolean): number {
  const served = sent.filter(
    ({ actor, verdict, startedAt, endedAt }) =>
      isKind(actor) && verdict === 'done' && (startedAt >= at || endedAt >= at),
  )
  return Math.min(...served.map(({ endedAt }) => (endedAt - at) / 1000))
}

const late = (what: string, seconds: number) =>
  seconds * 1000 <= RECOVERED_WITHIN_MS ? [] : [`${what} worked again after ${seconds.toFixed(1)} s`]

export const checkSignIn: Check = (sent, { stoppedAt, backAt }) => {
  const refused = sent.filter(({ verdict }) => verdict === 'away')
  const others = refused.filter(({ actor }) => actor !== 'sign-in')
  const afterwards = refused.filter(({ startedAt }) => startedAt > backAt + RECOVERED_WITHIN_MS)
  const meanwhile = sent.filter(
    ({ actor, startedAt, endedAt }) => actor === 'sign-in' && startedAt > stoppedAt && endedAt < backAt,
  )
  const seconds = secondsUntil(sent, backAt, (actor) => actor === 'sign-in')
  return {
    seconds,
    problems: [
      ...others.slice(0, 5).map(({ actor, answer }) => `${actor} was refused: ${answer}`),
      ...(afterwards.length > 0 ? [`${afterwards.length} sign-ins were refused after it was back`] : []),
      ...(meanwhile.some(({ verdict }) => verdict === 'done') ? ['a sign-in was served without Redis'] : []),
      ...late('sign-in', seconds),
    ],
  }
}

export const checkRecovery: Check = (sent, { backAt }) => {
  const calls = secondsUntil(sent, backAt, (actor) => actor === 'call in a session')
  const settled = secondsUntil(sent, backAt, (actor) => actor === 'settle')
  const afterwards = sent.filter(
    ({ verdict, startedAt }) => verdict === 'away' && startedAt > backAt + RECOVERED_WITHIN_MS,
  )
  return {
    seconds: Math.max(calls, settled),
    problems: [
      ...late('a paid call', calls),
      ...late('a settlement', settled),
      ...afterwards
        .slice(0, 5)
        .map(
          ({ actor, startedAt }) => `${actor} was refused ${startedAt - backAt} ms after Postgres was back`,
        ),
    ],
  }
}

export const redisAway = storesAway('redis-away', REDIS_HELP, 1, { outages: [redisOutage] }, checkSignIn)

export const postgresRestarted = storesAway(
  'postgres-restarted',
  POSTGRES_HELP,
  6,
  { outages: postgresOutages },
  checkRecovery,
)

function rowsOf(outage: Outage, all: readonly Played[]): Row[] {
  const rounds = all.filter((one) => one.outage === outage)
  if (rounds.length === 0) return []
  const sum = (of: (one: Played) => number) => rounds.reduce((total, one) => total + of(one), 0)
  return [
    {
      fault: outage.fault,
      where: outage.where,
      times: rounds.length,
      payments: sum(({ payments }) => payments),
      outcome: outage.outcome,
      counted: `${sum(({ requests }) => requests)} requests, ${sum(({ refused }) => refused)} refused, ${sum(({ pending }) => pending)} told that their payment is pending`,
      worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
    },
  ]
}
