import { verifier } from '../checks'
import { chainChecks } from './chain-checks'
import { offlineChecks } from './checks'
import { askFacts } from './facts'

/** All checks of a payment; undefined means it would settle now. Rejects with `ChainUnavailable` where no node answers. */
export const verify = verifier({ offlineChecks, askFacts, chainChecks })
