import type { Family } from '../family'
import { parseAddress } from './address'
import { createChain, isChainId } from './chain'
import { CosmosConfiguration, type CosmosSettings, Denom } from './network'
import { checkOffline } from './transfer-methods/bank-send/offline'
import { type CosmosPayment, readPayment } from './transfer-methods/bank-send/payment'
import { verifySignIn } from './signing/sign-in'
import { hashOf } from './rpc-schemas'

/** Cosmos SDK chains: bech32 addresses, sign-in by ADR-036, payments by a signed transaction with one bank send. */
export const cosmos: Family<CosmosPayment, CosmosSettings> = {
  ecosystem: 'cosmos',
  isChainId,
  parseAddress,
  parseAsset: (text) => Denom.safeParse(text).data,
  verifySignIn,
  readPayment,
  checkOffline,
  transactionHash: hashOf,
  hasRemoteSigners: false,
  mismatch: { payTo: 'invalid_payment', amount: 'invalid_payment' },
  configuration: CosmosConfiguration,
  connect: createChain,
}
