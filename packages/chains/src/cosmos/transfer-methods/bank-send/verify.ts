import { createVerifier } from '../../../checks'
import { chainChecks } from './chain-checks'
import { offlineChecks } from './checks'
import { readChainState } from './chain-state'

export const verify = createVerifier({ offlineChecks, readChainState, chainChecks })
