import { createVerifier } from '../../../checks'
import { chainChecks, signatureChecks } from './chain-checks'
import { offlineChecks } from './checks'
import { readChainState } from './chain-state'

export const verify = createVerifier({ offlineChecks, readChainState, chainChecks })

/** Checks the terms and what the payer signed, whatever sequence and fee the chain asks for now. */
export const checkSigned = createVerifier({ offlineChecks, readChainState, chainChecks: signatureChecks })
