import { decodeJson } from '@tollgate/protocol'
import type { AuthorizedPayment } from './eip3009/payment'
import { eip3009 } from './eip3009/transfer-method'
import type { TransferMethod } from './transfer-method'
import { permit2 } from './permit2/transfer-method'
import type { PermittedPayment } from './permit2/payment'
import { rawTransfer } from './raw-transfer/transfer-method'
import type { RawTransfer } from './raw-transfer/payment'

export type EvmPayment = AuthorizedPayment | RawTransfer | PermittedPayment

/** To add a method, see docs/add-a-chain-family.md, "Add a payment method". */
const transferMethods: { [K in EvmPayment['kind']]: TransferMethod<Extract<EvmPayment, { kind: K }>> } = {
  eip3009,
  rawTransfer,
  permit2,
}

export const transferMethodOf = <P extends EvmPayment>({ kind }: P): TransferMethod<P> =>
  transferMethods[kind] as unknown as TransferMethod<P>

/** Text is a raw transaction in hex, or base64 or base64url of JSON. */
const contentOf = (text: string): unknown => (/^0x/i.test(text) ? { rawTx: text } : decodeJson(text))

/** Parses the payload of an `exact` payment, as an object or as text. Undefined if it is malformed, or fits two methods. */
export function readPayment(payload: unknown): EvmPayment | undefined {
  const content = typeof payload === 'string' ? contentOf(payload) : payload
  const isPossible = ({ members }: { members: readonly string[] }) =>
    typeof content === 'object' && content !== null && members.some((member) => member in content)
  // A schema that fails costs ten times as much as one that fits.
  const readings = Object.values(transferMethods)
    .filter(isPossible)
    .map(({ read }) => read(content))
    .filter((payment) => payment !== undefined)
  return readings.length === 1 ? readings[0] : undefined
}
