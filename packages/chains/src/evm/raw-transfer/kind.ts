import { verifier } from '../../checks'
import type { Kind } from '../kind'
import { chainChecks, offlineChecks, ownChecks } from './checks'
import { askFacts } from './facts'
import { fate, isSpentAt } from './fate'
import { type RawTransfer, readRawTransfer } from './payment'
import { movesOther, settles } from './settles'

/** The payer signs an ERC-20 transfer as a whole transaction, which is sent as it is. */
export const rawTransfer: Kind<RawTransfer> = {
  read: readRawTransfer,
  ownChecks,
  // Its payer is read from the signature.
  isSignedByKey: () => true,
  verify: verifier({ offlineChecks, askFacts, chainChecks }),
  settles,
  differs: movesOther,
  isSpentAt,
  fate,
}
