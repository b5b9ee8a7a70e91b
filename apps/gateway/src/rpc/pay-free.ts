import { FREE_PLAN_ID } from '@tollgate/protocol'
import { type FreeCredits } from '../accounts/free-credits'
import { type Ledger } from '../accounts/ledger'
import { chargeOf, FREE_CALLERS, spend, type Price } from './charge'
import { type CallRequest, type CallResponse, type PaidFor } from './call'
import { type RequirePaymentChoice } from './payment-choice'

type Dependencies = {
  freeCredits: Pick<FreeCredits, 'giveToAddress'>
  ledger: Pick<Ledger, 'spend'>
  requirePaymentChoice: RequirePaymentChoice
}

/** Other calls of the address can take what was given back to it, and the day can end: both are rare. */
const MAX_ATTEMPTS = 5

export type PayFree = ReturnType<typeof createPayFree>

/** Spends the free credits of the client's address, for a call without credentials. Answers 402 if they do not suffice. */
export const createPayFree =
  ({ freeCredits, ledger, requirePaymentChoice }: Dependencies) =>
  async (
    request: CallRequest,
    response: CallResponse,
    { route, cost }: Price,
  ): Promise<PaidFor | undefined> => {
    const { call, span } = request
    const { address } = request.client()
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const share = await freeCredits.giveToAddress(address, cost)
      if (!share) break
      const { id, wallet, left } = share
      const payer = { authority: { kind: 'address', id }, wallet, planId: FREE_PLAN_ID } as const
      const spent = await spend(ledger, chargeOf(call, payer, { route, cost }), span)
      if (spent.outcome === 'paid')
        return {
          wallet: FREE_CALLERS,
          cost,
          spent: { ...spent, remaining: spent.remaining + left },
          span,
          isRepeatable: false,
        }
    }
    return requirePaymentChoice(request, response)
  }
