import { openLedgerQueries } from '@tollgate/e2e/testing/ledger-queries'
import { startWorld } from '@tollgate/e2e/testing/world'
import { auditMoney } from './audit'
import { facilitatorTarget } from './crash-points/facilitator'
import { gatewayTarget } from './crash-points/gateway'
import { killAtEach } from './crash-points/round'
import { cosmosFacilitatorPoints, facilitatorPoints, gatewayPoints, type Step } from './crash-points/steps'
import { openCrashHook } from './crash-points/crash-hook'
import { cosmos, evm, type Family } from './family'
import { type PayingChain } from './paying-chain'
import { type Scenario } from './scenario'

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

    const parts = { stage, chain, crashHook }
    const steps = Object.keys(settling) as Step[]
    const settled = await killAtEach(await facilitatorTarget(world, { chain, steps, stage }), parts)
    const bought = await killAtEach(gatewayTarget(world, { family, chain, stage }), parts)
    return {
      problems: [...settled.problems, ...bought.problems, ...(await auditGateway())],
      rows: [...settled.rows, ...bought.rows],
    }

    async function auditGateway() {
      const ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
      stage.closeLater(() => ledger.close())
      await ledger.settled(ENDED_WITHIN_SECONDS)
      const { problems } = await auditMoney(ledger, await chain.paidTo(family.planOf(world).pay_to))
      return problems
    }
  },
})

export const crashPoints = crashPointsOn(evm, facilitatorPoints)
export const cosmosCrashPoints = crashPointsOn(cosmos, cosmosFacilitatorPoints)
