import { z } from 'zod'

export const text = (max: number) => z.string().min(1).max(max)
export const PlanId = z.int().min(1).max(2_147_483_647).describe('The number of a pricing plan.')
/** The credits of this plan were given, not bought. It is not sold. */
export const FREE_PLAN_ID = 0
export const AccountPlanId = z
  .int()
  .min(FREE_PLAN_ID)
  .max(2_147_483_647)
  .describe('The number of a pricing plan; 0 for free credits, which no payment bought.')
export const exampleWallet = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** The format depends on the ecosystem; its chain family validates it. */
export const WalletAddress = text(128)
  .regex(
    /^(0[xX][0-9a-fA-F]{40}|[a-z0-9]{1,83}1[02-9ac-hj-np-z]{6,90}|[A-Z0-9]{1,83}1[02-9AC-HJ-NP-Z]{6,90})$/,
    'must be the address of a wallet',
  )
  .meta({
    description:
      'A wallet: an EVM address in any letter case, or the bech32 address of an ecosystem served here.',
    examples: [exampleWallet],
  })
