import { openBooks } from '../testing/books'
import { startWorld } from '../testing/world'
import { auditMoney } from './audit'
import { facilitatorTarget } from './crash-points/facilitator'
import { gatewayTarget } from './crash-points/gateway'
import { killAtEach } from './crash-points/round'
import { cosmosFacilitatorPoints, facilitatorPoints, gatewayPoints, type Step } from './crash-points/steps'
import { openTrap } from './crash-points/trap'
import { cosmos, evm, type Family } from './family'
import { type PayingChain } from './paying-chain'
import { type Scenario } from './scenario'

const ENDED_WITHIN_SECONDS = 60

const tellSteps = (all: Record<string, { says: string }>) =>
  Object.entries(all)
    .map(([step, { says }]) => `    ${step.padEnd(15)} ${says}`)
    .join('\n')

const helpOf = (
  settling: Record<string, { says: string }>,
) => `kill -9 of a service at a named step, by what leaves the process and comes back to it, while three to five payments
  are under way: every other time beside a second replica, which has to take over a killed facilitator's signers within ten
  seconds; every third time what is sent waits for its block. The killed one is started again.
  The facilitator, when
${tellSteps(settling)}
  The gateway, when
${tellSteps(gatewayPoints)}
  Each round checks that the chain has exactly one transfer for each payment, that success was handed out once for each (or
  one grant given), that every payment has its end, and that no signer's nonce was skipped or used twice.`

const crashPointsOn = <C extends PayingChain>(
  family: Family<C>,
  settling: Record<string, { says: string }>,
): Scenario => ({
  name: `${family.prefix}crash-points`,
  help: `${family.told}${helpOf(settling)}`,
  rounds: 20,
  parts: [...Object.keys(settling), ...Object.keys(gatewayPoints)],
  async run(stage) {
    const trap = openTrap()
    stage.closeLater(() => trap.remove())
    const starting = startWorld({
      signal: stage.signal,
      alterations: { ...family.alterations(), environment: () => trap.environment },
    })
    stage.closeLater(async () => (await starting.catch(() => undefined))?.stop())
    const world = await starting
    const chain = await family.open(world)
    stage.closeLater(() => chain.close())

    const parts = { stage, chain, trap }
    const steps = Object.keys(settling) as Step[]
    const settled = await killAtEach(await facilitatorTarget(world, { chain, steps, stage }), parts)
    const bought = await killAtEach(gatewayTarget(world, { family, chain, stage }), parts)
    return {
      problems: [...settled.problems, ...bought.problems, ...(await auditGateway())],
      rows: [...settled.rows, ...bought.rows],
    }

    /** All rounds together, once no call is under way any more: the gateway's books, against the chain. */
    async function auditGateway() {
      const books = openBooks(world.foundation.postgres.gateway)
      stage.closeLater(() => books.close())
      await books.settled(ENDED_WITHIN_SECONDS)
      const { problems } = await auditMoney(books, await chain.paidTo(family.planOf(world).pay_to))
      return problems
    }
  },
})

export const crashPoints = crashPointsOn(evm, facilitatorPoints)
export const cosmosCrashPoints = crashPointsOn(cosmos, cosmosFacilitatorPoints)
