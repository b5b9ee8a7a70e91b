import type { Due } from '../family'
import { Data } from './answers'
import type { EvmNetwork } from './network'
import { type EvmPayment, kindOf } from './payment'

/** So many that gas per payment hardly falls further, and so few that a transaction of them finds room in any block. */
const MAX_BATCH = 50

type Batcher = { network: EvmNetwork; hasMulticall: () => Promise<boolean> }

/**
 * Puts what may share a transaction together, by asset and in the order given; each of the rest is alone. Of a payer that may
 * be a contract one payment goes at a time; those behind it are left out. Where the network does not tell, each payer may be.
 */
export async function batches<D extends Due<EvmPayment>>(
  { network, hasMulticall }: Batcher,
  due: readonly D[],
): Promise<D[][]> {
  const [first] = due
  if (first === undefined || (due.length === 1 && !first.isBehind)) return due.map((one) => [one])
  const [canShare, plain] = await Promise.all([hasMulticall(), accountsWithoutCode(network, due)])

  const all: D[][] = []
  const open = new Map<string, D[]>()
  const ahead = new Set<string>()
  for (const one of due) {
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

const isShareable = (network: EvmNetwork, { payment, terms, isAlone }: Due<EvmPayment>): boolean =>
  !isAlone && kindOf(payment).call?.(network, payment, terms).isShareable === true

/**
 * The payers at whose address is no contract. An account with a key may have handed itself over to one (EIP-7702), which the
 * token then asks for its signature: code of the payer's own, that could burn the gas of all beside it.
 */
async function accountsWithoutCode({ rpc }: EvmNetwork, due: readonly Due[]): Promise<Set<string>> {
  const payers = [...new Set(due.map(({ payment }) => payment.payer))]
  const codes = await Promise.all(
    payers.map((payer) => rpc.call(Data, 'eth_getCode', [payer, 'latest']).catch(() => undefined)),
  )
  return new Set(payers.filter((_, i) => codes[i] === '0x'))
}
