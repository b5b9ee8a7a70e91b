import { root as thisVersion } from '@tollgate/e2e/testing/world'
import { playRounds } from '../environment'
import { type Scenario } from '../scenario'
import { startDeployment } from './deployment'
import { buildVersion } from '@tollgate/e2e/testing/build-version'
import { countRequests, DESCRIPTION, startTraffic } from './traffic'

const HELP = `As rolling-restarts, from the version before to this one and back: two gateways and two facilitators behind nginx, under
  load: ${DESCRIPTION}.
  The databases have the migrations of this version from the start, as a release applies them first. Each round replaces all four
  with this version, and then with the one before: the commit that --from names, which is built first, or the folder of its build. No request may fail. Needs nginx and git.`

export const rollVersions: Scenario = {
  name: 'roll-versions',
  help: HELP,
  rounds: 1,
  needsVersion: true,
  async run(stage) {
    const { from, say } = stage
    if (from === undefined) throw new Error('--from is missing: the commit of the version before')
    const { root: before, commit } = await buildVersion(from, stage)
    const deployment = await startDeployment(stage)
    const rollBoth = async (root: string) => {
      await Promise.all([deployment.roll('gateway', { root }), deployment.roll('facilitator', { root })])
    }
    await rollBoth(before)
    const traffic = await startTraffic(stage, deployment)
    const problems = await playRounds(stage, async (round) => {
      for (const [what, root] of [
        ['this version', thisVersion],
        [commit, before],
      ] as const) {
        await rollBoth(root)
        const { all, pending, failed } = countRequests(traffic.sent)
        say(
          `· round ${round}, rolled to ${what}: ${all} requests so far, ${pending} pending, ${failed} failed`,
        )
      }
      return []
    })
    await traffic.stop()
    const { all, pending, away, failed, examples } = countRequests(traffic.sent)
    const audit = await traffic.audit()
    if (failed + away > 0) problems.push(`${failed + away} of ${all} requests failed: ${examples.join('; ')}`)
    return {
      problems: [...problems, ...deployment.problems, ...audit.problems],
      rows: [
        {
          fault: `All four replicas are rolled from ${commit} to this version and back, under load`,
          where: 'gateway, facilitator',
          times: stage.rounds,
          payments: audit.credited + audit.settled,
          outcome: 'No request fails. Every payment is settled by one transfer, and credited once.',
          counted: `${all} requests, 0 failed, ${pending} told that their payment is pending; ${audit.credited} payments credited, ${audit.settled} settled for merchants`,
        },
      ],
    }
  },
}
