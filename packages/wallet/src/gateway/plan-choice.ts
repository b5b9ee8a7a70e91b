import { type Limits } from '../limits.js'
import { type Wallet } from '../wallets/wallet.js'
import { choosePlan } from './choose-plan.js'
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
  let chosen: Plan | undefined

  async function choose(tried: ReadonlySet<number>): Promise<Plan> {
    const [plans, balances] = await Promise.all([
      gateway.plans(),
      id === undefined ? gateway.credits(await wallet.address()) : [],
    ])
    const { ecosystem } = wallet
    return (chosen = choosePlan(plans, { id, ecosystem, limits, balances, tried }))
  }

  function chooseOnce(tried: ReadonlySet<number>): Promise<Plan> {
    const key = [...tried].sort((one, other) => one - other).join()
    const running = choosing.get(key) ?? choose(tried).finally(() => choosing.delete(key))
    choosing.set(key, running)
    return running
  }

  return {
    find: async (): Promise<Plan> => chosen ?? chooseOnce(new Set()),

    /** `tried`: the plans whose credits did not suffice. */
    async findOther(tried: ReadonlySet<number>): Promise<Plan> {
      return chosen && (id !== undefined || !tried.has(chosen.id)) ? chosen : chooseOnce(tried)
    },
  }
}
