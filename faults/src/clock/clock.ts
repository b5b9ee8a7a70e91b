import { evm } from '../family'
import { playRounds, prepareEnvironment } from '../environment'
import { type Row, type Scenario } from '../scenario'
import { buyAroundJump } from './buying'
import { PAYMENTS, type ClockJump, type JumpResult } from './clock-jump'
import { openClocks } from './service-clock'
import { settleAroundJump } from './settling'

const MINUTES = 10
/** Exceeds the validity of the payments in flight. */
const CHAIN_JUMP_SECONDS = 660
const VALID_SECONDS = 600
const CHAIN_FAULT = 'The clock of the chain jumps past the validity of open payments'

const HELP = `Clocks jump while payments are in flight: the facilitator's ${MINUTES} minutes ahead and ${MINUTES} behind, the gateway's likewise,
  and the chain's ahead of all (evm_increaseTime), by more than the validity of the payments in flight. ${PAYMENTS} payments are in
  flight at the jump, ${PAYMENTS} are requested while the clock is wrong, and ${PAYMENTS} after its correction; the chain's clock is never
  corrected, so its last payments are signed by its time. Each must have one outcome, with one transfer or none, and the last
  ones must succeed.`

export const clock: Scenario = {
  name: 'clock',
  help: HELP,
  rounds: 5,
  async run(stage) {
    const clocks = openClocks()
    stage.closeLater(() => clocks.close())
    const environment = await prepareEnvironment(stage, evm, {
      environment: (name) => ({ SETTLE_TIMEOUT_SECONDS: '3', ...clocks.environment(name) }),
    })
    const { chain, world } = environment
    const jumpOf = (name: 'facilitator' | 'gateway', direction: 'ahead' | 'behind'): ClockJump => ({
      fault: `The clock of the ${name} jumps ${MINUTES} minutes ${direction}`,
      wrong: () => clocks.move(name, world[name], (direction === 'ahead' ? 60 : -60) * MINUTES),
      right: () => clocks.move(name, world[name], 0),
    })
    const chainJump: ClockJump = {
      fault: CHAIN_FAULT,
      wrong: () => chain.rpc('evm_increaseTime', CHAIN_JUMP_SECONDS),
      right: () => Promise.resolve(),
    }

    const results: JumpResult[] = []
    const problems = await playRounds(stage, async (round) => {
      const before = VALID_SECONDS + (round - 1) * CHAIN_JUMP_SECONDS
      const lasting = { before, after: before }
      const found = [
        await settleAroundJump(environment, jumpOf('facilitator', 'ahead'), lasting),
        await settleAroundJump(environment, jumpOf('facilitator', 'behind'), lasting),
        await buyAroundJump(environment, jumpOf('gateway', 'ahead'), before),
        await buyAroundJump(environment, jumpOf('gateway', 'behind'), before),
        await settleAroundJump(environment, chainJump, { before, after: before + CHAIN_JUMP_SECONDS }),
      ]
      for (const { result: one } of found)
        stage.say(
          `· ${one.fault}: ${one.successes} successes, ${one.refusals.length} refused ${[...new Set(one.refusals)].join(', ')}, ` +
            `${one.transfers} transfers; in order after ${one.seconds.toFixed(1)} s`,
        )
      results.push(...found.map((one) => one.result))
      return found.flatMap((one) => one.problems)
    })
    const faults = [...new Set(results.map(({ fault }) => fault))]
    return {
      problems,
      rows: faults.map((fault) =>
        rowOf(
          fault,
          results.filter((one) => one.fault === fault),
        ),
      ),
    }
  },
}

function rowOf(fault: string, rounds: readonly JumpResult[]): Row {
  const sum = (of: (one: JumpResult) => number) => rounds.reduce((total, one) => total + of(one), 0)
  const reasons = [...new Set(rounds.flatMap(({ refusals }) => refusals))]
  const refused = reasons.length === 0 ? '' : `, or is refused (${reasons.join(', ')}) and moves no money`
  const last = fault === CHAIN_FAULT ? 'signed by the time of the chain' : 'with the correct clock'
  return {
    fault,
    where: 'clock',
    times: rounds.length,
    payments: sum(({ payments }) => payments),
    outcome: `Each payment succeeds by one transfer${refused}. All later ones, ${last}, succeed.`,
    counted: `${sum(({ successes }) => successes)} successes, ${sum(({ refusals }) => refusals.length)} refused, ${sum(({ transfers }) => transfers)} transfers`,
    worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
  }
}
