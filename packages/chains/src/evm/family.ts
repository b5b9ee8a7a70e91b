import type { Family } from '../family'
import { parseAddress } from './address'
import { createChain, isChainId } from './chain'
import { EvmConfiguration, type EvmSettings } from './network'
import { checkOffline } from './transfer-methods/offline'
import { type EvmPayment, readPayment } from './transfer-methods/payment'
import { verifyContractSignIn, verifySignIn } from './signing/sign-in'
import { transactionHash } from './transaction-hash'

/** EVM chains: EIP-55 addresses, sign-in by EIP-191 or EIP-1271, payments by EIP-3009, Permit2 or a signed ERC-20 transfer. */
export const evm: Family<EvmPayment, EvmSettings> = {
  ecosystem: 'evm',
  isChainId,
  parseAddress,
  parseAsset: parseAddress,
  verifySignIn,
  verifyContractSignIn,
  readPayment,
  checkOffline,
  transactionHash,
  hasRemoteSigners: true,
  mismatch: {
    payTo: 'invalid_exact_evm_payload_recipient_mismatch',
    amount: 'invalid_exact_evm_payload_authorization_value',
  },
  configuration: EvmConfiguration,
  connect: createChain,
}
