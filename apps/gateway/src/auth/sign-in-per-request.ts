import { FREE_PLAN_ID } from '@tollgate/protocol'
import { type FreeCredits } from '../accounts/free-credits'
import { type Ledger } from '../accounts/ledger'
import { type Catalog, type Plan } from '../catalog/catalog'
import { type SignInWithX } from '../extensions/sign-in-with-x'
import { type OwnProof, type Sessions } from './sessions'

export type SignInPerRequest = ReturnType<typeof createSignInPerRequest>

/**
 * Signs in for one request, by x402's extension `sign-in-with-x`, on the plan on which the wallet has the most credits; on a plan of the
 * proof's chain if it has free credits only, and undefined if it has none. A contract proves its address on one chain, and spends only
 * what was bought there.
 *
 * @throws ApiError 401 for a proof that does not hold
 */
export function createSignInPerRequest(parts: {
  signInWithX: SignInWithX
  catalog: Pick<Catalog, 'readPlans'>
  sessions: Pick<Sessions, 'ofProofs'>
  ledger: Pick<Ledger, 'getBalances'>
  freeCredits: Pick<FreeCredits, 'giveToWallet' | 'perWallet'>
}) {
  const { signInWithX, catalog, sessions, ledger, freeCredits } = parts

  /** A wallet without an account is new. */
  async function getBalances(wallet: string, address: string) {
    const balances = await ledger.getBalances(wallet)
    const mayBeGiven = balances.length === 0 && freeCredits.perWallet > 0
    if (!mayBeGiven) return balances
    await freeCredits.giveToWallet(wallet, address)
    return ledger.getBalances(wallet)
  }

  /** `address` of the client. */
  return async (header: string, address: string): Promise<OwnProof | undefined> => {
    const plans = await catalog.readPlans()
    const { wallet, chainId, signedBy } = await signInWithX.verify(header, plans.list, address)
    const mayPay = (plan: Plan) => signedBy === 'key' || plan.chainId === chainId
    const balances = await getBalances(wallet, address)
    const [richest] = balances
      .flatMap(({ planId, balance }) => {
        const plan = plans.find(planId)
        return plan && balance > 0n && mayPay(plan) ? [{ plan, balance }] : []
      })
      .sort((one, other) => Number(other.balance - one.balance))
    const isFree = balances.some(({ planId, balance }) => planId === FREE_PLAN_ID && balance > 0n)
    const ofProof = isFree
      ? plans.list.find((plan) => plan.active && plan.ecosystem === 'evm' && plan.chainId === chainId)
      : undefined
    const plan = richest?.plan ?? ofProof
    return plan && sessions.ofProofs({ wallet, authMethod: 'siwe', signedBy, plan })
  }
}
