import { type Ledger } from '../accounts/ledger'
import { type Catalog, type Plan } from '../catalog/catalog'
import { type SignInWithX } from '../extensions/sign-in-with-x'
import { type OwnProof, type Sessions } from './sessions'

export type SignInPerRequest = ReturnType<typeof createSignInPerRequest>

/**
 * Signs in for one request, by x402's extension `sign-in-with-x`, on the plan on which the wallet has the most credits.
 * Undefined if it has none. A contract proves its address on one chain, and spends only what was bought there.
 *
 * @throws ApiError 401 for a proof that does not hold
 */
export function createSignInPerRequest(parts: {
  signInWithX: SignInWithX
  catalog: Pick<Catalog, 'readPlans'>
  sessions: Pick<Sessions, 'ofProofs'>
  ledger: Pick<Ledger, 'getBalances'>
}) {
  const { signInWithX, catalog, sessions, ledger } = parts

  /** `address` of the client. */
  return async (header: string, address: string): Promise<OwnProof | undefined> => {
    const plans = await catalog.readPlans()
    const { wallet, chainId, signedBy } = await signInWithX.verify(header, plans.list, address)
    const mayPay = (plan: Plan) => signedBy === 'key' || plan.chainId === chainId
    const [richest] = (await ledger.getBalances(wallet))
      .flatMap(({ planId, balance }) => {
        const plan = plans.find(planId)
        return plan && balance > 0n && mayPay(plan) ? [{ plan, balance }] : []
      })
      .sort((one, other) => Number(other.balance - one.balance))
    return richest && sessions.ofProofs({ wallet, authMethod: 'siwe', signedBy, plan: richest.plan })
  }
}
