import { ChainUnavailable } from '../../../errors'
import {
  type PendingPayment,
  type OwnTransaction,
  type Refusal,
  type SignedTransaction,
  type UnsignedTransaction,
} from '../../../family'
import { feeFor, withGasMargin } from '../fees'
import type { Signer } from '../../../signers/signer'
import type { CosmosNetwork } from '../../network'
import type { CosmosPayment } from '../../transfer-methods/bank-send/payment'
import { decodeTx, type Tx } from '../../signing/tx'
import { isExpired } from './allowance'
import { grantMessage, readGrant, revokeMessage } from './grant'
import {
  encodeSignDoc,
  encodeUnsigned,
  getAccountNumber,
  signDirect,
  type GrantTransaction,
} from './grant-transaction'
import { getClock, sponsoredFee } from './sponsorship'

/** Time for a slow chain and for another replica to take over; an unused allowance then expires. */
const GRANT_SECONDS = 600n

/** The simulating node has another allowance state than the queried one: one of them is behind, or an allowance has just been used. */
const isStateMismatch = /\bfee-?(?:grant| allowance) (?:already exists|not found)/i

/** A node also counts its mempool, so a simulation is repeated with the sequence that the node expects. */
const MAX_SIMULATIONS = 3

const withMargin = (gas: bigint, max: bigint): bigint => {
  const withRoom = gas + (gas * 3n) / 10n
  return withRoom < max ? withRoom : max
}

/**
 * See `ChainSigner.prepare`. The transaction grants each payer of the batch the fee of its payment, and revokes an unused earlier
 * allowance. It succeeds or fails as a whole: it fails if one of the allowances is created or used up before it is
 * mined, and its payments must then be retried individually. Rejects, so that the payments wait, if our account has no
 * funds or the nodes disagree on the allowance of a single payment.
 */
export async function prepareGrants(
  network: CosmosNetwork,
  signer: Signer,
  batch: readonly PendingPayment<CosmosPayment>[],
  { nonce }: { nonce: bigint },
): Promise<UnsignedTransaction | Refusal> {
  if (batch.length === 0) throw new Error('A batch needs at least one payment')
  const { rpc, chainId, feeDenom, gasPrice, maxGas } = network
  const { address: granter } = signer
  const grantees = batch.map(({ payment }) => payment.payer)
  const [accountNumber, { time }, existing] = await Promise.all([
    getAccountNumber(network),
    getClock(network),
    Promise.all(grantees.map((grantee) => rpc.allowance(granter, grantee))),
  ])
  let allowed = 0n
  const messages = []
  for (const [index, { payment }] of batch.entries()) {
    const coin = sponsoredFee(network, payment)
    if (coin === undefined)
      return { reason: 'invalid_payment', detail: 'the facilitator does not pay this fee' }
    const parties = { granter, grantee: payment.payer }
    if (existing[index] !== undefined) messages.push(revokeMessage(parties))
    messages.push(grantMessage({ ...parties, coin, expiresAt: time + GRANT_SECONDS }))
    allowed += coin.amount
  }

  const maxBatchGas = maxGas * BigInt(batch.length)
  const content = { messages, chainId, accountNumber, sequence: nonce }
  const simulated = await simulate(network, signer, {
    ...content,
    gas: maxBatchGas,
    fee: { denom: feeDenom, amount: 1n },
  })
  if ('failure' in simulated) {
    if (batch.length === 1 && isStateMismatch.test(simulated.failure))
      throw new ChainUnavailable(
        `A node of ${network.name} simulates another state than it returns: ${simulated.failure}`,
      )
    return { reason: 'invalid_transaction_state', detail: simulated.failure }
  }
  const { gasUsed } = simulated
  if (withGasMargin(gasUsed) > maxBatchGas)
    return {
      reason: 'invalid_transaction_state',
      detail: `the allowances need ${gasUsed} gas, more than the limit of ${maxBatchGas}`,
    }
  const gas = withMargin(gasUsed, maxBatchGas)
  const fee = { denom: feeDenom, amount: feeFor(gas, gasPrice) }
  const bytes = encodeSignDoc(signer, { ...content, gas, fee })
  return { signer: granter, bytes, cost: fee.amount + allowed }
}

/**
 * See `ChainSigner.replace`: the same allowances with the fee of the current gas price, if it is higher, and with a later expiry,
 * if they would expire. A mempool accepts only one version of a sequence; any version may be mined.
 */
export async function replaceGrants(
  network: CosmosNetwork,
  signer: Signer,
  { raw }: SignedTransaction,
): Promise<OwnTransaction | undefined> {
  const { chainId, feeDenom, gasPrice } = network
  const { messages, sequence, gas, offered } = readGrantTransaction(network, signer, raw)
  const required = feeFor(gas, gasPrice)
  const { time } = await getClock(network)
  const grants = messages.map((message) => ({ message, grant: readGrant(message) }))
  const isExpiring = grants.some(({ grant }) => grant !== undefined && isExpired(grant, time))
  if (required <= offered && !isExpiring) return undefined
  const expiresAt = time + GRANT_SECONDS
  const amount = required > offered ? required : offered
  const allowed = grants.reduce((sum, { grant }) => sum + (grant?.coin.amount ?? 0n), 0n)
  const version = encodeSignDoc(signer, {
    messages: grants.map(({ message, grant }) =>
      isExpiring && grant !== undefined ? grantMessage({ ...grant, expiresAt }) : message,
    ),
    chainId,
    accountNumber: await getAccountNumber(network),
    sequence,
    gas,
    fee: { denom: feeDenom, amount },
  })
  return { ...(await signDirect({ bytes: version }, signer)), cost: amount + allowed }
}

/** Throws unless this signer signed the transaction. */
function readGrantTransaction({ feeDenom }: CosmosNetwork, { address, publicKey }: Signer, raw: string) {
  const tx: Tx | undefined = decodeTx(Buffer.from(raw, 'base64'))
  const first = tx?.signers[0]
  if (!tx || !first || Buffer.compare(first.publicKey?.bytes ?? Buffer.of(), publicKey) !== 0)
    throw new Error(`The transaction was not signed by ${address} for a settlement`)
  const offered = tx.fee.coins.find(({ denom }) => denom === feeDenom)?.amount ?? 0n
  return { messages: tx.messages, sequence: first.sequence, gas: tx.fee.gas, offered }
}

/** With the sequence that the node expects, because other transactions of ours may precede this one. */
async function simulate(
  { rpc, name }: CosmosNetwork,
  signer: Signer,
  content: GrantTransaction,
): Promise<{ gasUsed: bigint } | { failure: string }> {
  let { sequence } = content
  for (let attempt = 0; attempt < MAX_SIMULATIONS; attempt++) {
    const result = await rpc.simulate(encodeUnsigned(signer, { ...content, sequence }))
    if ('gasUsed' in result) return result
    const [, expected] = /sequence mismatch, expected ([0-9]{1,18})/.exec(result.failure) ?? []
    if (expected === undefined) return result
    sequence = BigInt(expected)
  }
  throw new ChainUnavailable(`A node of ${name} expects another sequence in each simulation`)
}
