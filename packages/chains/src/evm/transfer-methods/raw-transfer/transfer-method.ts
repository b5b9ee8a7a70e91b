import { createVerifier } from '../../../checks'
import type { TransferMethod } from '../transfer-method'
import { chainChecks, offlineChecks, ownChecks } from './checks'
import { readChainState } from './chain-state'
import { paymentStatus, isSpentAt } from './payment-status'
import { type RawTransfer, readRawTransfer } from './payment'
import { movesOther, settles } from './settles'

export const rawTransfer: TransferMethod<RawTransfer> = {
  members: ['rawTx'],
  read: readRawTransfer,
  ownChecks,
  // The payer is recovered from the signature.
  isSignedByKey: () => true,
  verify: createVerifier({ offlineChecks, readChainState, chainChecks }),
  settles,
  differs: movesOther,
  isSpentAt,
  paymentStatus,
}
