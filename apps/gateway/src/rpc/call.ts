import { type RpcRequest } from '@tollgate/protocol'
import { type Span } from '@tollgate/service'
import { type SpendResult } from '../accounts/ledger'
import { type Session } from '../auth/sessions'
import { type AccessKey } from '../keys/access-key'
import { type PaymentHeader } from '../payments/payment-header'
import { type PaymentResponse } from '../payments/payment-response'
import { type Bill } from './bill'
import { type Answer, type Caller } from './upstream/upstream-exchange'
import { type UpstreamRequest } from './upstream/upstream-request'

/**
 * A payment that comes with an access key, or without credentials, is its payer's own purchase. `open` stores the session of a
 * request that carries its own proof.
 */
export type Credentials =
  | { kind: 'session'; session: Session; open?: () => Promise<void> }
  | { kind: 'key'; key: AccessKey }
  | { kind: 'none' }

export type CallRequest = {
  call: Call
  bill: Bill
  outgoing: UpstreamRequest
  credentials: Credentials
  /** Computed only where it is needed; the address is a key. */
  client: () => { address: string; requestId: string }
  span: Span | undefined
  /** The URL of a 402, without an access key in it. */
  resource: string
  parsePayment: () => PaymentHeader | undefined
}
export type Call = Pick<RpcRequest, 'ecosystem' | 'transport' | 'method' | 'resource'> & {
  chainId: string
  rpcMethod: string | null
}

export type CallResponse = Caller &
  PaymentResponse & {
    releaseRequestBody: () => void
    /** Writes the first byte synchronously. `cut_off`: the upstream broke off a streamed answer. */
    send: (answer: Answer) => Promise<'sent' | 'cut_off'>
  }

/**
 * A charged call. `wallet`: whose budgets and places at upstreams it uses. `span`: of the payment's trace, if a payment of another request
 * paid for it. `isRepeatable`: it was paid by a payment that serves one call. `onAnswer` sees the answer before it is sent,
 * and returns more headers for it.
 */
export type PaidFor = {
  wallet: string
  cost: number
  spent: Extract<SpendResult, { outcome: 'paid' }>
  span: Span | undefined
  isRepeatable: boolean
  onAnswer?: (answer: Answer) => Record<string, string>
}
