import type { PendingPayment } from '../../family'
import { Data } from '../rpc-schemas'
import type { EvmNetwork } from '../network'
import { type EvmPayment, transferMethodOf } from '../transfer-methods/payment'

type Batcher = { network: EvmNetwork; hasMulticall: () => Promise<boolean> }

/** See `ChainPayments.batches`. One asset per batch. If the node does not return a payer's code, the payer may be a contract. */
export async function batches<D extends PendingPayment<EvmPayment>>(
  { network, hasMulticall }: Batcher,
  pending: readonly D[],
): Promise<D[][]> {
  const [first] = pending
  if (first === undefined || (pending.length === 1 && !first.isBehind)) return pending.map((one) => [one])
  const [canShare, plain] = await Promise.all([hasMulticall(), accountsWithoutCode(network, pending)])

  const all: D[][] = []
  const open = new Map<string, D[]>()
  const ahead = new Set<string>()
  for (const one of pending) {
    const { payer } = one.payment
    const isPlain = plain.has(payer) && !isWrapped(one.payment)
    if (!isPlain && (one.isBehind || ahead.has(payer))) continue
    ahead.add(payer)
    const canJoin = canShare && isPlain && isShareable(network, one)
    const asset = one.terms.token.asset.toLowerCase()
    const batch = canJoin ? open.get(asset) : undefined
    if (batch !== undefined && batch.length < network.gasModel.maxBatch(asset)) {
      batch.push(one)
      continue
    }
    const fresh = [one]
    all.push(fresh)
    if (canJoin) open.set(asset, fresh)
  }
  return all
}

/** A wrapped signature is a contract's, though the contract may not be deployed yet. */
const isWrapped = (payment: EvmPayment): boolean => 'deployment' in payment

const isShareable = (network: EvmNetwork, { payment, terms, isAlone }: PendingPayment<EvmPayment>): boolean =>
  !isAlone && transferMethodOf(payment).call?.(network, payment, terms).isShareable === true

/**
 * An account with a key can delegate to a contract (EIP-7702). The token then calls this code of the payer to check the
 * signature, and the code can burn the gas of the whole batch.
 */
async function accountsWithoutCode(
  { rpc }: EvmNetwork,
  pending: readonly PendingPayment[],
): Promise<Set<string>> {
  const payers = [...new Set(pending.map(({ payment }) => payment.payer))]
  const codes = await Promise.all(
    payers.map((payer) => rpc.call(Data, 'eth_getCode', [payer, 'latest']).catch(() => undefined)),
  )
  return new Set(payers.filter((_, i) => codes[i] === '0x'))
}
