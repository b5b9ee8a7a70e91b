import {
  ChainUnavailable,
  type Due,
  type OwnTransaction,
  type Refusal,
  type SignedTransaction,
} from '../../family'
import { feeFor, withGasMargin } from '../fees'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../payment'
import { decodeTx, type Tx } from '../tx'
import { isLapsed } from './allowance'
import { grantMessage, readGrant, revokeMessage } from './grant'
import { type Own, publicKeyOf, signOwn, unsigned } from './own-transaction'
import { askClock, bearable } from './sponsorship'

/** Room for a slow chain, and for another replica to take over; what is not used by then is nobody's any more. */
const GRANT_SECONDS = 600n

/**
 * What nodes say who have an allowance that was not there when we asked, or lack one that was: of two behind one URL one is
 * behind, or an allowance is just being used. Nothing that a payer signed can be wrong with that.
 */
const isOfOtherState = /\bfee-?(?:grant| allowance) (?:already exists|not found)/i

/** Times a simulation is tried with the sequence that the node wants: it counts what waits in its mempool. */
const TRIES = 3

const withMargin = (gas: bigint, most: bigint): bigint => {
  const roomy = gas + (gas * 3n) / 10n
  return roomy < most ? roomy : most
}

/**
 * Signs the transaction of ours that allows each payer of the batch the fee of its payment, and nothing beside it; nothing is
 * sent. What a payer was allowed before and did not use is revoked in it. It succeeds or fails as a whole: an allowance that
 * comes to be, or is used up, before it is in a block makes it fail, and its payments are then to go each alone.
 *
 * Refuses what `Chain.sign` refuses. `cost` is its own fee and all that it allows. Rejects, so that the payments wait, where
 * our account is not on the chain or holds nothing, and where the allowance of the only payment in it is there by one answer
 * and not by the next.
 */
export async function signGrants(
  network: CosmosNetwork,
  key: Uint8Array,
  batch: readonly Due<CosmosPayment>[],
  { nonce }: { nonce: bigint },
): Promise<OwnTransaction | Refusal> {
  if (batch.length === 0) throw new Error('A batch holds at least one payment')
  const { rpc, chainId, feeDenom, gasPrice, signer, maxGas } = network
  const grantees = batch.map(({ payment }) => payment.payer)
  const [accountNumber, { time }, leftovers] = await Promise.all([
    askAccountNumber(network),
    askClock(network),
    Promise.all(grantees.map((grantee) => rpc.allowance(signer, grantee))),
  ])
  let allowed = 0n
  const messages = []
  for (const [index, { payment }] of batch.entries()) {
    const coin = bearable(network, payment)
    if (coin === undefined)
      return { reason: 'invalid_payment', detail: 'its fee is none that is borne for a payment' }
    const parties = { granter: signer, grantee: payment.payer }
    if (leftovers[index] !== undefined) messages.push(revokeMessage(parties))
    messages.push(grantMessage({ ...parties, coin, expiresAt: time + GRANT_SECONDS }))
    allowed += coin.amount
  }

  const mostGas = maxGas * BigInt(batch.length)
  const own = { messages, chainId, accountNumber, sequence: nonce }
  const simulated = await simulate(network, key, {
    ...own,
    gas: mostGas,
    fee: { denom: feeDenom, amount: 1n },
  })
  if ('failure' in simulated) {
    if (batch.length === 1 && isOfOtherState.test(simulated.failure))
      throw new ChainUnavailable(
        `A node of ${network.name} simulates another state than it tells: ${simulated.failure}`,
      )
    return { reason: 'invalid_transaction_state', detail: simulated.failure }
  }
  const { gasUsed } = simulated
  if (withGasMargin(gasUsed) > mostGas)
    return {
      reason: 'invalid_transaction_state',
      detail: `the allowances need ${gasUsed} gas, of ${mostGas} that they may use`,
    }
  const gas = withMargin(gasUsed, mostGas)
  const fee = { denom: feeDenom, amount: feeFor(gas, gasPrice) }
  return { ...signOwn(key, { ...own, gas, fee }), cost: fee.amount + allowed }
}

/**
 * See `Chain.replace`: the same allowances under the fee that the configured gas price asks now, where the stored transaction
 * offers less, or with a later end, where they would lapse. A mempool that holds the one takes no other of its sequence; any
 * version may be mined.
 */
export async function replaceGrants(
  network: CosmosNetwork,
  key: Uint8Array,
  { raw }: SignedTransaction,
): Promise<OwnTransaction | undefined> {
  const { chainId, feeDenom, gasPrice } = network
  const { messages, sequence, gas, offered } = readOwn(network, key, raw)
  const asked = feeFor(gas, gasPrice)
  const { time } = await askClock(network)
  const grants = messages.map((message) => ({ message, grant: readGrant(message) }))
  const lapse = grants.some(({ grant }) => grant !== undefined && isLapsed(grant, time))
  if (asked <= offered && !lapse) return undefined
  const expiresAt = time + GRANT_SECONDS
  const amount = asked > offered ? asked : offered
  const allowed = grants.reduce((sum, { grant }) => sum + (grant?.coin.amount ?? 0n), 0n)
  const version = signOwn(key, {
    messages: grants.map(({ message, grant }) =>
      lapse && grant !== undefined ? grantMessage({ ...grant, expiresAt }) : message,
    ),
    chainId,
    accountNumber: await askAccountNumber(network),
    sequence,
    gas,
    fee: { denom: feeDenom, amount },
  })
  return { ...version, cost: amount + allowed }
}

/** A transaction that this key signed. */
function readOwn({ signer, feeDenom }: CosmosNetwork, key: Uint8Array, raw: string) {
  const tx: Tx | undefined = decodeTx(Buffer.from(raw, 'base64'))
  const by = tx?.signers[0]
  if (!tx || !by || Buffer.compare(by.publicKey?.bytes ?? Buffer.of(), publicKeyOf(key)) !== 0)
    throw new Error(`The transaction is none that ${signer} signed for a settlement`)
  const offered = tx.fee.coins.find(({ denom }) => denom === feeDenom)?.amount ?? 0n
  return { messages: tx.messages, sequence: by.sequence, gas: tx.fee.gas, offered }
}

async function askAccountNumber({ rpc, name, signer, feeDenom }: CosmosNetwork): Promise<bigint> {
  const [account, funds] = await Promise.all([rpc.account(signer), rpc.balance(signer, feeDenom)])
  if (account === undefined || funds === 0n)
    throw new Error(`${signer} holds no ${feeDenom} on ${name}: send it some, for fees`)
  return account.accountNumber
}

/** Under the sequence that the node wants, not the one that it will be sent under: others of ours may wait before it. */
async function simulate(
  { rpc, name }: CosmosNetwork,
  key: Uint8Array,
  own: Own,
): Promise<{ gasUsed: bigint } | { failure: string }> {
  let { sequence } = own
  for (let left = TRIES; left > 0; left--) {
    const answer = await rpc.simulate(unsigned(key, { ...own, sequence }))
    if ('gasUsed' in answer) return answer
    const [, expected] = /sequence mismatch, expected ([0-9]{1,18})/.exec(answer.failure) ?? []
    if (expected === undefined) return answer
    sequence = BigInt(expected)
  }
  throw new ChainUnavailable(`A node of ${name} wants another sequence each time it is asked`)
}
