import { playRounds } from '../environment'
import { type Result, type Scenario, type Stage } from '../scenario'
import { startDeployment, type Deployment, type Stop } from './deployment'
import { countRequests, DESCRIPTION, startTraffic, type Traffic } from './traffic'

const HELP = `Two gateways and two facilitators behind nginx, which repeats no request, under load: ${DESCRIPTION}.
  Each round replaces all four: a new replica gets traffic once it is ready, then an old one loses its traffic, gets SIGTERM and must
  exit with 0. With after-pre-stop it waits five seconds before SIGTERM, as in Kubernetes; with at-once it does not, so that its
  connections are open and its requests under way. No request may fail: each must be served, or answered as the contract has it (402
  before a payment, 503 PAYMENT_PENDING or settlement_pending while a payment is settled). Afterwards every payment must be settled
  once and credited once. Needs nginx (nginx-light and libnginx-mod-stream).`

const FAULTS = {
  'after-pre-stop': 'All four replicas are replaced under load, one after the other',
  'at-once': 'The same without preStop: SIGTERM with requests under way and connections open',
} as const satisfies Record<Stop, string>

const STOPS = ['after-pre-stop', 'at-once'] as const satisfies readonly Stop[]

export const rollingRestarts: Scenario = {
  name: 'rolling-restarts',
  help: HELP,
  rounds: 20,
  parts: STOPS,
  run: (stage) => rollAll(stage),
}

async function rollAll(stage: Stage): Promise<Result> {
  const deployment = await startDeployment(stage)
  const traffic = await startTraffic(stage, deployment)
  const played: Result[] = []
  for (const stop of STOPS.filter((one) => stage.parts?.includes(one) ?? true))
    played.push(await rollAllWith(stop, { stage, deployment, traffic }))
  await traffic.stop()
  const audit = await traffic.audit()
  return {
    problems: [...played.flatMap(({ problems }) => problems), ...deployment.problems, ...audit.problems],
    rows: played.flatMap(({ rows }) => rows),
  }
}

async function rollAllWith(
  stop: Stop,
  { stage, deployment, traffic }: { stage: Stage; deployment: Deployment; traffic: Traffic },
): Promise<Result> {
  const before = { sent: traffic.sent.length, ...(await traffic.ended()) }
  const count = () => countRequests(traffic.sent.slice(before.sent))
  await playRounds(stage, async (round) => {
    await Promise.all([deployment.roll('gateway', {}, stop), deployment.roll('facilitator', {}, stop)])
    const { all, pending, away, failed } = count()
    stage.say(
      `· ${stop}, round ${round} of ${stage.rounds}: all four replaced; ${all} requests so far, ${pending} pending, ${failed + away} failed`,
    )
    return []
  })
  const { all, pending, away, failed, examples } = count()
  const ended = await traffic.ended()
  const credited = ended.credited - before.credited
  const settled = ended.settled - before.settled
  return {
    problems:
      failed + away > 0
        ? [
            `${stop}: ${failed + away} of ${all} requests failed: ${examples.join('; ')}`,
            ...deployment.nginx.errors(),
          ]
        : [],
    rows: [
      {
        fault: FAULTS[stop],
        where: 'gateway, facilitator',
        times: stage.rounds,
        payments: credited + settled,
        outcome: 'No request fails. Every payment is settled by one transfer, and credited once.',
        counted: `${all} requests, 0 failed, ${pending} told that their payment is pending; ${credited} payments credited, ${settled} settled for merchants`,
      },
    ],
  }
}
