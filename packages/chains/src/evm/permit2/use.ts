import { z } from 'zod'
import { ChainUnavailable } from '../../family'
import { Data, hex, Receipt } from '../answers'
import { sameAddress } from '../address'
import { isTransferOf, transferTopics } from '../erc20'
import type { EvmNetwork } from '../network'
import { searchBack } from '../search'
import type { PermittedPayment } from './payment'
import { isSettlementCall, proxyEvents } from './transfer'

const Address = hex(/^0x[0-9a-f]{40}$/i)

const Sent = z.object({ hash: z.string(), to: Address.nullable(), input: Data })

/** A call and those that it made, as the tracer of geth and its kin tells them. */
type Frame = { to: string; input: string; failed: boolean; calls: Frame[] }
const Frame: z.ZodType<Frame> = z
  .object({
    to: Address.nullish(),
    input: Data,
    error: z.string().nullish(),
    get calls() {
      return z.array(Frame).nullish()
    },
  })
  .transform(({ to, input, error, calls }) => ({
    to: to ?? '',
    input,
    failed: typeof error === 'string',
    calls: calls ?? [],
  }))

/** What fails undoes all that it did. */
const settlesWithin = (frame: Frame, payment: PermittedPayment): boolean =>
  !frame.failed &&
  (isSettlementCall(frame, payment) || frame.calls.some((call) => settlesWithin(call, payment)))

/**
 * Whether this transaction, which moved as much from payer to recipient as the payment does, did it by the payment's own nonce:
 * it is that call of the proxy, or where others lie between, made that call. Rejects with `ChainUnavailable` where that cannot
 * be told: by another payment's transfer none may count as settled.
 */
async function settledBy(
  { rpc, name }: EvmNetwork,
  hash: string,
  payment: PermittedPayment,
  asset: string,
): Promise<boolean> {
  const sent = await rpc.call(Sent.nullable(), 'eth_getTransactionByHash', [hash])
  if (sent === null) throw new ChainUnavailable(`The node names ${hash} and does not know it`)
  const to = sent.to ?? ''
  if (isSettlementCall({ to, input: sent.input }, payment)) return true
  if (sameAddress(asset, to)) return false
  const receipt = await rpc.call(Receipt.nullable(), 'eth_getTransactionReceipt', [hash])
  if (receipt === null) throw new ChainUnavailable(`The node names ${hash} and has no receipt of it`)
  if (proxyEvents(receipt.logs).length === 0) return false
  const trace = rpc.call(Frame, 'debug_traceTransaction', [hash, { tracer: 'callTracer' }])
  return settlesWithin(
    await trace.catch((cause: unknown) => {
      throw new ChainUnavailable(
        `Nobody can tell what ${hash} settled: give ${name} an RPC URL whose node offers debug_traceTransaction for it`,
        { cause },
      )
    }),
    payment,
  )
}

/** The transaction that settled the payment, be it mined or about to be; undefined where there is none. See `searchBack`. */
export async function findSettlement(
  network: EvmNetwork,
  height: bigint,
  payment: PermittedPayment,
  asset: string,
): Promise<string | undefined> {
  let untold: PromiseRejectedResult | undefined
  for await (const logs of searchBack(network, height, { address: asset, topics: transferTopics(payment) })) {
    const transfers = logs.filter((log) => isTransferOf(log, payment))
    const hashes = [...new Set(transfers.flatMap(({ transactionHash }) => transactionHash ?? []))]
    const answers = await Promise.allSettled(hashes.map((hash) => settledBy(network, hash, payment, asset)))
    const found = answers.findIndex((answer) => answer.status === 'fulfilled' && answer.value)
    if (found >= 0) return hashes[found]
    untold ??= answers.find((answer) => answer.status === 'rejected')
  }
  return untold && Promise.reject(untold.reason as Error)
}
