import { createVerifier, firstRefusal } from '../../../checks'
import type { TransferMethod } from '../transfer-method'
import { chainChecks, offlineChecks, ownChecks, signedChecks } from './checks'
import { readChainState } from './chain-state'
import { findTransfer, isSpentAt, paymentStatus } from './payment-status'
import { type RawTransfer, readRawTransfer } from './payment'
import { movesOther, placeOf } from './place-of'

export const rawTransfer: TransferMethod<RawTransfer> = {
  members: ['rawTx'],
  read: readRawTransfer,
  ownChecks,
  // The payer is recovered from the signature.
  readSignature: () => ({ signature: 'valid' }),
  verify: createVerifier({ offlineChecks, readChainState, chainChecks }),
  checkSigned: (question) => Promise.resolve(firstRefusal(signedChecks, question)),
  placeOf,
  differs: movesOther,
  isSpentAt,
  paymentStatus,
  findTransfer,
}
