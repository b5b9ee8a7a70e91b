import type { PendingPayment } from '../../family'
import { Data } from '../rpc-schemas'
import type { EvmNetwork } from '../network'
import { type EvmPayment, transferMethodOf } from '../transfer-methods/payment'

/** So many that gas per payment hardly falls further, and so few that a transaction of them finds room in any block. */
const MAX_BATCH = 50

type Batcher = { network: EvmNetwork; hasMulticall: () => Promise<boolean> }

/**
 * Puts what may share a transaction together, by asset and in the order given; each of the rest is alone. Of a payer that may
 * be a contract one payment goes at a time; those behind it are left out. Where the network does not tell, each payer may be.
 */
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
    const isPlain = plain.has(payer)
    if (!isPlain && (one.isBehind || ahead.has(payer))) continue
    ahead.add(payer)
    const canJoin = canShare && isPlain && isShareable(network, one)
    const asset = one.terms.token.asset.toLowerCase()
    const batch = canJoin ? open.get(asset) : undefined
    if (batch !== undefined && batch.length < MAX_BATCH) {
      batch.push(one)
      continue
    }
    const fresh = [one]
    all.push(fresh)
    if (canJoin) open.set(asset, fresh)
  }
  return all
}

const isShareable = (network: EvmNetwork, { payment, terms, isAlone }: PendingPayment<EvmPayment>): boolean =>
  !isAlone && transferMethodOf(payment).call?.(network, payment, terms).isShareable === true

/**
 * The payers at whose address is no contract. An account with a key may have handed itself over to one (EIP-7702), which the
 * token then asks for its signature: code of the payer's own, that could burn the gas of all beside it.
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
