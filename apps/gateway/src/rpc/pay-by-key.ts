import { type Ledger } from '../accounts/ledger'
import { keyLimitReached, unknownKey } from '../keys/access-key'
import { type AccessKeyStore } from '../keys/store'
import { type PaymentStore } from '../payments/store'
import { chargeOf, spendOrConfirmShortage, type Price } from './charge'
import { type CallRequest, type CallResponse, type Credentials, type PaidFor } from './call'
import { type RequirePaymentChoice } from './payment-choice'

type Dependencies = {
  keys: Pick<AccessKeyStore, 'forget'>
  payments: Pick<PaymentStore, 'getWalletStatus'>
  ledger: Ledger
  requirePaymentChoice: RequirePaymentChoice
}

type Ways = Price & { key: Extract<Credentials, { kind: 'key' }>['key'] }

export type PayByKey = ReturnType<typeof createPayByKey>

/**
 * Spends the credits of an access key's wallet, within the key's limits. Answers 402 if they do not suffice.
 *
 * @throws ApiError INVALID_TOKEN for a key that was deleted or has expired, FORBIDDEN for one at its limit
 */
export const createPayByKey =
  ({ keys, payments, ledger, requirePaymentChoice }: Dependencies) =>
  async (
    request: CallRequest,
    response: CallResponse,
    { route, cost, key }: Ways,
  ): Promise<PaidFor | undefined> => {
    const { id, wallet, planId } = key
    const charge = chargeOf(request.call, { authority: { kind: 'key', id }, wallet, planId }, { route, cost })
    const spent = await spendOrConfirmShortage({ ledger, payments }, charge, request.span)
    if (spent.outcome === 'paid') return { wallet, cost, spent, span: request.span, isRepeatable: false }
    if (spent.outcome === 'revoked') {
      keys.forget(id)
      throw unknownKey()
    }
    if (spent.outcome === 'key_limit') throw keyLimitReached()
    return requirePaymentChoice(request, response)
  }
