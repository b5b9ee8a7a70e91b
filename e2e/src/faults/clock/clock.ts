import { evm } from '../family'
import { playRounds, prepareGround } from '../ground'
import { type Row, type Scenario } from '../scenario'
import { buyAroundLeap } from './buying'
import { PAYMENTS, type Leap, type Played } from './leap'
import { openClocks } from './moved-clock'
import { settleAroundLeap } from './settling'

const MINUTES = 10
/** More than payments are valid for that are under way. */
const CHAIN_LEAP_SECONDS = 660
const VALID_SECONDS = 600
const CHAIN_FAULT = 'The clock of the chain leaps past the validity of payments under way'

const HELP = `Clocks leap while payments are under way: the facilitator's ${MINUTES} minutes ahead, and ${MINUTES} behind, the gateway's likewise, and the
  chain's ahead of all (evm_increaseTime), by more than the payments under way are valid for. ${PAYMENTS} payments are under way then,
  ${PAYMENTS} are asked for while the clock is wrong, and ${PAYMENTS} when it is right again; the chain's never is, and there the last
  are signed by its time. Each must have one end, with one transfer or none, and those that come last must succeed.`

export const clock: Scenario = {
  name: 'clock',
  help: HELP,
  rounds: 5,
  async run(stage) {
    const clocks = openClocks()
    stage.closeLater(() => clocks.close())
    const ground = await prepareGround(stage, evm, {
      environment: (name) => ({ SETTLE_WAIT_SECONDS: '3', ...clocks.environment(name) }),
    })
    const { chain, world } = ground
    const leapOf = (name: 'facilitator' | 'gateway', direction: 'ahead' | 'behind'): Leap => ({
      fault: `The clock of the ${name} leaps ${MINUTES} minutes ${direction}`,
      wrong: () => clocks.move(name, world[name], (direction === 'ahead' ? 60 : -60) * MINUTES),
      right: () => clocks.move(name, world[name], 0),
    })
    const chainLeap: Leap = {
      fault: CHAIN_FAULT,
      wrong: () => chain.rpc('evm_increaseTime', CHAIN_LEAP_SECONDS),
      right: () => Promise.resolve(),
    }

    const played: Played[] = []
    const problems = await playRounds(stage, async (round) => {
      const before = VALID_SECONDS + (round - 1) * CHAIN_LEAP_SECONDS
      const lasting = { before, after: before }
      const found = [
        await settleAroundLeap(ground, leapOf('facilitator', 'ahead'), lasting),
        await settleAroundLeap(ground, leapOf('facilitator', 'behind'), lasting),
        await buyAroundLeap(ground, leapOf('gateway', 'ahead'), before),
        await buyAroundLeap(ground, leapOf('gateway', 'behind'), before),
        await settleAroundLeap(ground, chainLeap, { before, after: before + CHAIN_LEAP_SECONDS }),
      ]
      for (const { played: one } of found)
        stage.say(
          `· ${one.fault}: ${one.successes} successes, ${one.refusals.length} refused ${[...new Set(one.refusals)].join(', ')}, ` +
            `${one.transfers} transfers; in order after ${one.seconds.toFixed(1)} s`,
        )
      played.push(...found.map((one) => one.played))
      return found.flatMap((one) => one.problems)
    })
    const faults = [...new Set(played.map(({ fault }) => fault))]
    return {
      problems,
      rows: faults.map((fault) =>
        rowOf(
          fault,
          played.filter((one) => one.fault === fault),
        ),
      ),
    }
  },
}

function rowOf(fault: string, rounds: readonly Played[]): Row {
  const sum = (of: (one: Played) => number) => rounds.reduce((total, one) => total + of(one), 0)
  const reasons = [...new Set(rounds.flatMap(({ refusals }) => refusals))]
  const refused = reasons.length === 0 ? '' : `, or is refused (${reasons.join(', ')}) and moves no money`
  const last = fault === CHAIN_FAULT ? 'signed by the time of the chain' : 'when the clock is right again'
  return {
    fault,
    where: 'clock',
    times: rounds.length,
    payments: sum(({ payments }) => payments),
    outcome: `Each payment succeeds, by one transfer${refused}. Those that come last, ${last}, all succeed.`,
    counted: `${sum(({ successes }) => successes)} successes, ${sum(({ refusals }) => refusals.length)} refused, ${sum(({ transfers }) => transfers)} transfers`,
    worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
  }
}
