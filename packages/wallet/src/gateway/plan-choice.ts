import { type Limits } from '../limits.js'
import { type Wallet } from '../wallets/wallet.js'
import { choosePlan, isWithinLimits } from './choose-plan.js'
import { type GatewayClient } from './gateway-client.js'
import { type Plan } from './wire.js'

export type PlanChoice = ReturnType<typeof createPlanChoice>

/** The plan whose credits are spent: the same one until its credits do not suffice. */
export function createPlanChoice(parts: {
  gateway: GatewayClient
  wallet: Wallet
  limits: Limits | undefined
  /** The number of the only plan to use. */
  id: number | undefined
}) {
  const { gateway, wallet, limits, id } = parts
  const choosing = new Map<string, Promise<Plan>>()
  const { ecosystem } = wallet
  const wish = { id, ecosystem, limits }
  let chosen: Plan | undefined

  async function choose(tried: ReadonlySet<number>): Promise<Plan> {
    // Not beside the plans, whose failure no one would see while a wallet waits for its user.
    const address = id === undefined ? await wallet.address() : undefined
    const [plans, balances] = await Promise.all([
      gateway.plans(),
      address === undefined ? [] : gateway.credits(address),
    ])
    return (chosen = choosePlan(plans, { ...wish, balances, tried }))
  }

  function chooseOnce(tried: ReadonlySet<number>): Promise<Plan> {
    const key = [...tried].sort((one, other) => one - other).join()
    const running = choosing.get(key) ?? choose(tried).finally(() => choosing.delete(key))
    choosing.set(key, running)
    return running
  }

  const find = async (): Promise<Plan> => chosen ?? chooseOnce(new Set())

  return {
    find,

    /** `tried`: the plans whose credits did not suffice. */
    async findOther(tried: ReadonlySet<number>): Promise<Plan> {
      return chosen && (id !== undefined || !tried.has(chosen.id)) ? chosen : chooseOnce(tried)
    },

    /** The one whose credits are spent, unless only another one is within the limits. */
    async findToBuy(): Promise<Plan> {
      const plan = await find()
      if (id !== undefined || isWithinLimits(plan, limits)) return plan
      return choosePlan(await gateway.plans(), { ...wish, balances: [] })
    },
  }
}
