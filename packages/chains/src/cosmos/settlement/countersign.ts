import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, SignerInfo } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { makeSignBytes, makeSignDoc } from '@cosmjs/proto-signing'
import {
  type OwnTransaction,
  type PendingPayment,
  type Refusal,
  type SignedTransaction,
  type UnsignedTransaction,
} from '../../family'
import type { Signer } from '../../signers/signer'
import type { CosmosNetwork } from '../network'
import { decodeTx, type Tx } from '../signing/tx'
import type { CosmosPayment } from '../transfer-methods/bank-send/payment'
import { encodeSecp256k1Key, getAccountNumber, signDirect } from './feegrant/grant-transaction'
import { paidFee } from './feegrant/sponsorship'

/**
 * A transaction of the payer that names our signer as its fee payer. The payer signs amino JSON, which holds the fee payer's address and
 * neither its key nor its sequence, so our signature can be added under any of our sequences. If the payer's own sequence is used
 * before, no block includes the transaction: it costs nothing, and our sequence stays unused.
 */
type Countersigned = { tx: Tx; sequence: bigint }

/** See `ChainSigner.prepare`: a single payment, because each is a transaction. */
export async function prepareCountersigned(
  network: CosmosNetwork,
  signer: Signer,
  [{ payment }]: readonly [PendingPayment<CosmosPayment>],
  { nonce }: { nonce: bigint },
): Promise<UnsignedTransaction | Refusal> {
  const coin = paidFee(network, payment)
  if (coin === undefined)
    return { reason: 'invalid_payment', detail: 'the facilitator does not pay this fee' }
  const accountNumber = await getAccountNumber(network)
  return unsigned(network, signer, { tx: payment.tx, sequence: nonce }, { accountNumber, cost: coin.amount })
}

function unsigned(
  { chainId }: Pick<CosmosNetwork, 'chainId'>,
  { address, publicKey }: Signer,
  { tx, sequence }: Countersigned,
  { accountNumber, cost }: { accountNumber: bigint; cost: bigint },
): UnsignedTransaction {
  const { signerInfos, fee } = AuthInfo.decode(tx.authInfoBytes)
  const ours = SignerInfo.fromPartial({
    publicKey: encodeSecp256k1Key(publicKey),
    modeInfo: { single: { mode: SignMode.SIGN_MODE_DIRECT } },
    sequence,
  })
  const [payers] = signerInfos
  if (payers === undefined) throw new Error('The payment names no signer')
  const authInfo = AuthInfo.encode(
    AuthInfo.fromPartial({ signerInfos: [payers, ours], ...(fee && { fee }) }),
  ).finish()
  const bytes = makeSignBytes(makeSignDoc(tx.bodyBytes, authInfo, chainId, accountNumber))
  return { signer: address, bytes, cost, signatures: tx.signatures.slice(0, 1) }
}

/** Whether our signer has added its signature to a payer's transaction. */
const isCountersigned = (tx: Tx | undefined, { publicKey }: Signer): tx is Tx =>
  tx?.signers.length === 2 && Buffer.compare(tx.signers[1]?.publicKey?.bytes ?? Buffer.of(), publicKey) === 0

/**
 * See `ChainSigner.moveTo`. Both versions hold the payer's sequence, so one of them can be mined at most. Undefined for a transaction
 * without a payer's signature, of which both could be.
 */
export async function moveCountersigned(
  network: CosmosNetwork,
  signer: Signer,
  { raw }: SignedTransaction,
  nonce: bigint,
): Promise<OwnTransaction | undefined> {
  const tx = decodeTx(Buffer.from(raw, 'base64'))
  if (!isCountersigned(tx, signer)) return undefined
  const cost = tx.fee.coins.reduce((sum, { amount }) => sum + amount, 0n)
  const accountNumber = await getAccountNumber(network)
  const moved = unsigned(network, signer, { tx, sequence: nonce }, { accountNumber, cost })
  return { ...(await signDirect(moved, signer)), cost }
}

/** Whether the transaction holds a payer's signature: its fee cannot be raised. */
export const holdsPayersSignature = ({ raw }: SignedTransaction, signer: Signer): boolean =>
  isCountersigned(decodeTx(Buffer.from(raw, 'base64')), signer)
