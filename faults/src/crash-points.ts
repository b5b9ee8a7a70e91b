import { openLedgerQueries } from '@tollgate/e2e/testing/ledger-queries'
import { startWorld } from '@tollgate/e2e/testing/world'
import { auditMoney } from './audit'
import { facilitatorTarget } from './crash-points/facilitator'
import { gatewayTarget } from './crash-points/gateway'
import { killAtEach } from './crash-points/round'
import {
  cosmosFacilitatorPoints,
  facilitatorPoints,
  gatewayPoints,
  payPerRequestPoints,
  type Step,
} from './crash-points/steps'
import { openCrashHook } from './crash-points/crash-hook'
import { cosmos, evm, type Family } from './family'
import { type PayingChain } from './paying-chain'
import { type Scenario, type Stage } from './scenario'

const ENDED_WITHIN_SECONDS = 60

const formatSteps = (all: Record<string, { says: string }>) =>
  Object.entries(all)
    .map(([step, { says }]) => `    ${step.padEnd(15)} ${says}`)
    .join('\n')

const helpOf = (
  settling: Record<string, { says: string }>,
) => `kill -9 of a service at a named step, detected by the process's output and input, while three to five payments are in
  flight. Every other time a second replica runs, which must take over a killed facilitator's signers within ten seconds; every
  third time transactions stay pending. The killed process is restarted.
  The facilitator, when
${formatSteps(settling)}
  The gateway, when
${formatSteps(gatewayPoints)}
  Each round checks that the chain has exactly one transfer for each payment, that success was reported once for each (or
  one grant made), that every payment has ended, and that no signer's nonce was skipped or used twice.`

const crashPointsOn = <C extends PayingChain>(
  family: Family<C>,
  settling: Record<string, { says: string }>,
): Scenario => ({
  name: `${family.prefix}crash-points`,
  help: `${family.helpPrefix}${helpOf(settling)}`,
  rounds: 20,
  parts: [...Object.keys(settling), ...Object.keys(gatewayPoints)],
  async run(stage) {
    const environment = await start(stage, family)
    const { world, chain } = environment
    const steps = Object.keys(settling) as Step[]
    const settled = await killAtEach(await facilitatorTarget(world, { chain, steps, stage }), environment)
    const bought = await killAtEach(gatewayTarget(world, environment), environment)
    return {
      problems: [...settled.problems, ...bought.problems, ...(await auditGateway(environment))],
      rows: [...settled.rows, ...bought.rows],
    }
  },
})

const payPerRequestCrashPointsOn = <C extends PayingChain>(family: Family<C>): Scenario => ({
  name: `${family.prefix}pay-per-request-crash-points`,
  help: `${family.helpPrefix}The same for payments at a plain URL without a sign-in, of which each pays for one call. The gateway is killed when
${formatSteps(payPerRequestPoints)}
  Each round checks in addition that each payment serves one call, and then no other.`,
  rounds: 20,
  parts: Object.keys(payPerRequestPoints),
  async run(stage) {
    const environment = await start(stage, family)
    const { problems, rows } = await killAtEach(
      gatewayTarget(environment.world, { ...environment, buys: 'per-request' }),
      environment,
    )
    return { problems: [...problems, ...(await auditGateway(environment))], rows }
  },
})

async function start<C extends PayingChain>(stage: Stage, family: Family<C>) {
  const crashHook = openCrashHook()
  stage.closeLater(() => crashHook.remove())
  const starting = startWorld({
    signal: stage.signal,
    overrides: { ...family.overrides(), environment: () => crashHook.environment },
  })
  stage.closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const world = await starting
  const chain = await family.open(world)
  stage.closeLater(() => chain.close())
  return { stage, family, world, chain, crashHook }
}

async function auditGateway<C extends PayingChain>({
  stage,
  family,
  world,
  chain,
}: Awaited<ReturnType<typeof start<C>>>) {
  const ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
  stage.closeLater(() => ledger.close())
  await ledger.settled(ENDED_WITHIN_SECONDS)
  const { problems } = await auditMoney(ledger, await chain.paidTo(family.planOf(world).pay_to))
  return problems
}

export const crashPoints = crashPointsOn(evm, facilitatorPoints)
export const payPerRequestCrashPoints = payPerRequestCrashPointsOn(evm)
export const cosmosCrashPoints = crashPointsOn(cosmos, cosmosFacilitatorPoints)
export const cosmosPayPerRequestCrashPoints = payPerRequestCrashPointsOn(cosmos)
