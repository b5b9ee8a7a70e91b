import { decodeJson } from '@tollgate/protocol'
import type { AuthorizedPayment } from './eip3009/payment'
import { eip3009 } from './eip3009/transfer-method'
import type { TransferMethod } from './transfer-method'
import { permit2 } from './permit2/transfer-method'
import type { PermittedPayment } from './permit2/payment'
import { rawTransfer } from './raw-transfer/transfer-method'
import type { RawTransfer } from './raw-transfer/payment'

export type EvmPayment = AuthorizedPayment | RawTransfer | PermittedPayment

/** Every way to pay on an EVM network; to add one is to add its folder and its word here. */
const transferMethods: { [K in EvmPayment['kind']]: TransferMethod<Extract<EvmPayment, { kind: K }>> } = {
  eip3009,
  raw_tx: rawTransfer,
  permit2,
}

/** What there is to know of payments like this one. */
export const transferMethodOf = <P extends EvmPayment>({ kind }: P): TransferMethod<P> =>
  transferMethods[kind] as unknown as TransferMethod<P>

/** Text is base64 or base64url of JSON, or else a raw transaction in hex. */
const contentOf = (text: string): unknown => (/^0x/i.test(text) ? { rawTx: text } : decodeJson(text))

/**
 * Reads the payload of an `exact` payment, as an object or as text. Undefined for anything else, and for what could be read in
 * two ways.
 */
export function readPayment(payload: unknown): EvmPayment | undefined {
  const content = typeof payload === 'string' ? contentOf(payload) : payload
  const readings = Object.values(transferMethods)
    .map(({ read }) => read(content))
    .filter((payment) => payment !== undefined)
  return readings.length === 1 ? readings[0] : undefined
}
