import type { Family } from '../family'
import { parseAddress } from './address'
import { createChain, isChainId } from './chain'
import { CosmosConfiguration, type CosmosSettings, Denom } from './network'
import { checkOffline } from './offline'
import { type CosmosPayment, readPayment } from './payment'
import { verifySignIn } from './sign-in'

/**
 * Chains of the Cosmos SDK: wallets are bech32 addresses, sign in by ADR-036, and pay by a bank send that they sign as
 * a whole transaction. What is paid in is a denomination, spelled in one way only.
 */
export const cosmos: Family<CosmosPayment, CosmosSettings> = {
  ecosystem: 'cosmos',
  isChainId,
  parseAddress,
  parseAsset: (text) => Denom.safeParse(text).data,
  verifySignIn,
  readPayment,
  checkOffline,
  mismatch: { payTo: 'invalid_payment', amount: 'invalid_payment' },
  configuration: CosmosConfiguration,
  connect: createChain,
}
