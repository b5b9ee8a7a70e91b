import { openBooks } from '../testing/books'
import { tokenAt } from '../testing/chain'
import { startWorld } from '../testing/world'
import { auditMoney } from './audit'
import { facilitatorTarget } from './crash-points/facilitator'
import { gatewayTarget } from './crash-points/gateway'
import { killAtEach } from './crash-points/round'
import { facilitatorPoints, gatewayPoints } from './crash-points/steps'
import { openTrap } from './crash-points/trap'
import { evmPayingChain } from './paying-chain'
import { type Scenario } from './scenario'

const ENDED_WITHIN_SECONDS = 60

const tellSteps = (all: Record<string, { says: string }>) =>
  Object.entries(all)
    .map(([step, { says }]) => `    ${step.padEnd(10)} ${says}`)
    .join('\n')

const HELP = `kill -9 of a service at a named step, by what leaves the process and comes back to it, while three to five payments
  are under way: every other time beside a second replica, which has to take over a killed facilitator's signers within ten
  seconds; every third time what is sent waits for its block. The killed one is started again.
  The facilitator, when
${tellSteps(facilitatorPoints)}
  The gateway, when
${tellSteps(gatewayPoints)}
  Each round checks that the chain has exactly one transfer for each payment, that success was handed out once for each (or
  one grant given), that every payment has its end, and that no signer's nonce was skipped or used twice.`

export const crashPoints: Scenario = {
  name: 'crash-points',
  help: HELP,
  rounds: 20,
  parts: [...Object.keys(facilitatorPoints), ...Object.keys(gatewayPoints)],
  async run(stage) {
    const trap = openTrap()
    stage.closeLater(() => trap.remove())
    const starting = startWorld({
      signal: stage.signal,
      alterations: { environment: () => trap.environment },
    })
    stage.closeLater(async () => (await starting.catch(() => undefined))?.stop())
    const world = await starting
    const chain = evmPayingChain(world.foundation.anvil)
    stage.closeLater(() => chain.close())

    const parts = { stage, chain, trap }
    const settling = await killAtEach(await facilitatorTarget(world, chain, stage), parts)
    const buying = await killAtEach(gatewayTarget(world, chain, stage), parts)
    return {
      problems: [...settling.problems, ...buying.problems, ...(await auditGateway())],
      rows: [...settling.rows, ...buying.rows],
    }

    /** All rounds together, once no call is under way any more: the gateway's books, against the chain. */
    async function auditGateway() {
      const books = openBooks(world.foundation.postgres.gateway)
      stage.closeLater(() => books.close())
      const token = tokenAt(world.foundation.rpcUrl)
      stage.closeLater(() => token.close())
      await books.settled(ENDED_WITHIN_SECONDS)
      const { problems } = await auditMoney(books, await token.authorizationsTo(world.plan.pay_to))
      return problems
    }
  },
}
