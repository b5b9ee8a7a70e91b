import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '@tollgate/e2e/testing/paying'
import { playRounds } from '../environment'
import { type Row, type Scenario, type Stage } from '../scenario'
import { startDeployment, type Deployment } from './deployment'
import { countRequests, DESCRIPTION, startTraffic, type Traffic } from './traffic'

const HELP = `Two gateways and two facilitators behind nginx, which asks the other replica only if one refuses a connection, under load:
  ${DESCRIPTION}.
  Each round kills one process by kill -9, in turn a gateway, the facilitator that leads the signers, and the one that does not; it
  is started again in place. Only requests that the killed process held may fail: those that were under way at the kill. Afterwards
  every payment must be settled once and credited once. Needs nginx.`

const KINDS = ['gateway', 'leading facilitator', 'other facilitator'] as const
type Kind = (typeof KINDS)[number]

const BEFORE_MS = 3_000
const AFTER_MS = 6_000
/** For bytes that were on their way to the process when it ended. */
const ARRIVING_MS = 100
/** Until the kernel has ended a killed process, its socket accepts connections. */
const END_POLL_MS = 5

type Killed = {
  kind: Kind
  held: number
  failed: number
  requests: number
  pending: number
  payments: number
  seconds: number
}

export const replicaKilled: Scenario = {
  name: 'replica-killed',
  help: HELP,
  rounds: 9,
  async run(stage) {
    const deployment = await startDeployment(stage, { retries: 'unsent' })
    const traffic = await startTraffic(stage, deployment)
    const killed: Killed[] = []
    const problems = await playRounds(stage, (round) =>
      playRound({ stage, deployment, traffic, killed }, KINDS[(round - 1) % KINDS.length] ?? 'gateway'),
    )
    await traffic.stop()
    problems.push(...(await traffic.audit()).problems)
    return { problems, rows: KINDS.flatMap((kind) => rowsOf(kind, killed)) }
  },
}

async function playRound(
  {
    stage,
    deployment,
    traffic,
    killed,
  }: { stage: Stage; deployment: Deployment; traffic: Traffic; killed: Killed[] },
  kind: Kind,
): Promise<string[]> {
  const before = { sent: traffic.sent.length, paid: await traffic.paid() }
  await delay(BEFORE_MS)
  const victim = await victimOf(kind, deployment)
  const { host } = new URL(victim.url)
  const unanswered = deployment.nginx.unanswered().length
  const pid = victim.pid()
  const held = traffic.underWay()
  process.kill(pid, 'SIGKILL')
  const killedAt = Date.now()
  await until(
    () => Promise.resolve(existsSync(`/proc/${pid}/fd/0`)),
    (isOpen) => !isOpen,
    60,
    END_POLL_MS,
  )
  const endedAt = Date.now()
  await until(
    () => Promise.resolve(victim.pid()),
    (now) => now !== pid,
    60,
    50,
  )
  const seconds = (Date.now() - killedAt) / 1000
  await delay(AFTER_MS)
  const sent = traffic.sent.slice(before.sent)
  const { all, pending } = countRequests(sent)
  const failed = sent.filter(({ verdict }) => verdict === 'failed' || verdict === 'away')
  const late = failed.filter(({ startedAt }) => startedAt > endedAt + ARRIVING_MS)
  const early = failed.filter(({ endedAt }) => endedAt < killedAt)
  stage.say(
    `· ${kind} killed with ${held} requests under way at all services: ${all} requests, ${failed.length} failed, ` +
      `${pending} pending; started again after ${seconds.toFixed(1)} s`,
  )
  const elsewhere = deployment.nginx
    .unanswered()
    .slice(unanswered)
    .filter((line) => !line.includes(host))
  const payments = (await traffic.paid()) - before.paid
  killed.push({ kind, held, failed: failed.length, requests: all, pending, payments, seconds })
  const problems = [...early, ...late].map(
    ({ actor, startedAt, answer }) =>
      `${actor} failed, sent ${startedAt - killedAt} ms after the kill: ${answer}`,
  )
  return [...problems, ...elsewhere.map((line) => `a request failed at another process: ${line}`)]
}

/** The leader of most signers, or the other facilitator. */
async function victimOf(kind: Kind, { replicas }: Deployment) {
  const counted = await Promise.all(
    replicas.facilitator.map(async (replica) => ({ replica, signers: await signersLedBy(replica) })),
  )
  const [leader, other] = counted.sort((one, another) => another.signers - one.signers)
  const victim = {
    gateway: replicas.gateway[0],
    'leading facilitator': leader?.replica,
    'other facilitator': other?.replica,
  }
  const found = victim[kind]
  if (!found) throw new Error(`There is no ${kind}`)
  return found
}

async function signersLedBy({ metricsUrl }: { metricsUrl: string }): Promise<number> {
  const page = await (await fetch(metricsUrl)).text()
  return page.split('\n').filter((line) => /^tollgate_signer_is_leader\{.*\} 1$/.test(line)).length
}

function rowsOf(kind: Kind, all: readonly Killed[]): Row[] {
  const rounds = all.filter((one) => one.kind === kind)
  if (rounds.length === 0) return []
  const sum = (of: (one: Killed) => number) => rounds.reduce((total, one) => total + of(one), 0)
  return [
    {
      fault: `kill -9 of one of two: the ${kind}`,
      where: kind === 'gateway' ? 'gateway' : 'facilitator',
      times: rounds.length,
      payments: sum(({ payments }) => payments),
      outcome:
        'Only requests fail that were under way at the kill. Every payment is settled by one transfer, and credited once.',
      counted: `${sum(({ requests }) => requests)} requests, ${sum(({ failed }) => failed)} failed of ${sum(({ held }) => held)} under way at the kills, ${sum(({ pending }) => pending)} told that their payment is pending`,
    },
  ]
}
