import { MsgSend } from 'cosmjs-types/cosmos/bank/v1beta1/tx'
import { Any } from 'cosmjs-types/google/protobuf/any'
import { type OwnTransaction } from '../../family'
import type { Signer } from '../../signers/signer'
import type { CosmosNetwork } from '../network'
import { encodeSignDoc, getAccountNumber, signDirect } from './feegrant/grant-transaction'
import { feeFor } from './fees'

/** See `ChainSigner.fill`: sends the smallest amount from our account to itself, which needs less gas than a grant. */
export async function fillNonce(
  network: CosmosNetwork,
  signer: Signer,
  nonce: bigint,
): Promise<OwnTransaction> {
  const { chainId, feeDenom, gasPrice, maxGas } = network
  const { address } = signer
  const value = MsgSend.encode(
    MsgSend.fromPartial({
      fromAddress: address,
      toAddress: address,
      amount: [{ denom: feeDenom, amount: '1' }],
    }),
  ).finish()
  const fee = { denom: feeDenom, amount: feeFor(maxGas, gasPrice) }
  const bytes = encodeSignDoc(signer, {
    messages: [Any.fromPartial({ typeUrl: MsgSend.typeUrl, value })],
    gas: maxGas,
    fee,
    chainId,
    accountNumber: await getAccountNumber(network),
    sequence: nonce,
  })
  return { ...(await signDirect({ bytes }, signer)), cost: fee.amount }
}
