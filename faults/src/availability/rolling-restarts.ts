import { type Result, type Scenario, type Stage } from '../scenario'
import { startDeployment } from './deployment'
import { countRequests, DESCRIPTION, startTraffic } from './traffic'

const HELP = `Two gateways and two facilitators behind nginx, which repeats no request, under load: ${DESCRIPTION}.
  Each round replaces all four as Kubernetes does: a new replica gets traffic once it is ready, then an old one loses its traffic,
  waits five seconds (preStop), gets SIGTERM and must exit with 0. No request may fail: each must be served, or answered as the
  contract has it (402 before a payment, 503 PAYMENT_PENDING or settlement_pending while a payment is settled). Afterwards every
  payment must be settled once and credited once. Needs nginx (nginx-light and libnginx-mod-stream).`

export const rollingRestarts: Scenario = {
  name: 'rolling-restarts',
  help: HELP,
  rounds: 20,
  run: (stage) => rollAll(stage),
}

async function rollAll(stage: Stage): Promise<Result> {
  const { rounds, signal, say } = stage
  const deployment = await startDeployment(stage)
  const traffic = await startTraffic(stage, deployment)
  for (let round = 1; round <= rounds; round++) {
    signal.throwIfAborted()
    await Promise.all([deployment.roll('gateway'), deployment.roll('facilitator')])
    const { all, pending, failed } = countRequests(traffic.sent)
    say(
      `· round ${round} of ${rounds}: all four replaced; ${all} requests so far, ${pending} pending, ${failed} failed`,
    )
  }
  await traffic.stop()
  const { all, pending, away, failed, examples } = countRequests(traffic.sent)
  const audit = await traffic.audit()
  return {
    problems: [
      ...deployment.problems,
      ...(failed + away > 0 ? [`${failed + away} of ${all} requests failed: ${examples.join('; ')}`] : []),
      ...audit.problems,
    ],
    rows: [
      {
        fault: 'All four replicas are replaced under load, one after the other',
        where: 'gateway, facilitator',
        times: rounds,
        payments: audit.credited + audit.settled,
        outcome: 'No request fails. Every payment is settled by one transfer, and credited once.',
        counted: `${all} requests, 0 failed, ${pending} told that their payment is pending; ${audit.credited} payments credited, ${audit.settled} settled for merchants`,
      },
    ],
  }
}
