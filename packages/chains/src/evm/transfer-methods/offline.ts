import { firstRefusal } from '../../checks'
import type { OfflineResult, Terms } from '../../family'
import { signedTermsChecks } from './checks'
import { MOST_GAS } from '../settlement/gas-model'
import { type EvmPayment, transferMethodOf } from './payment'

/** See `Family.checkOffline`. Does not apply the limits of a single facilitator. */
export function checkOffline(
  payment: EvmPayment,
  terms: Terms,
  { chainId, now }: { chainId: string; now: Date },
): OfflineResult {
  const kind = transferMethodOf(payment)
  const refusal = firstRefusal([...signedTermsChecks, ...kind.ownChecks], {
    payment,
    terms,
    now: BigInt(Math.floor(now.getTime() / 1000)),
    network: { chainId, minRemainingValiditySeconds: 0, maxGas: MOST_GAS },
  })
  return refusal ?? kind.readSignature(payment, terms, chainId)
}
