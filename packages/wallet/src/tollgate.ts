import { type TollgateEvents } from './events.js'
import {
  type AccessKey,
  type CreatedAccessKey,
  type CreditBalance,
  type NewAccessKey,
  type PaymentRecord,
  type Plan,
  type UsageRecord,
} from './gateway/wire.js'
import { type Limits } from './limits.js'
import { type WalletStorage } from './storage/storage.js'

export type CallOptions = { signal?: AbortSignal }

export type TollgateOptions = {
  /** The gateway's public URL. */
  url: string | URL
  /** An ethers v6 `Signer`, a viem account or wallet client, an EIP-1193 provider, or a CosmJS `OfflineSigner`. */
  wallet: unknown
  /** The number of a plan of `plans()`. Default: one that the wallet can pay within its limits, with credits left if there is one. */
  plan?: number
  /** Without them nothing is paid. */
  limits?: Limits
  /** Default: localStorage in a browser, else memory. */
  storage?: WalletStorage
  /** In milliseconds, for one request. Default: 60,000. */
  timeoutMs?: number
}

export type Purchase = { planId: number; amount: bigint; transaction: string; credits: number }

export type Page<T> = { data: T[]; total: number }
export type PageOptions = { limit?: number; before?: string | number }

export type Tollgate = {
  url: string
  address(): Promise<string>
  /** One JSON-RPC call. @throws TollgateError RPC_ERROR with the node's error */
  request<T = unknown>(chain: string, method: string, params?: unknown, options?: CallOptions): Promise<T>
  /** A JSON-RPC body, an object or a batch, as it should reach the node; the node's answer as it came. */
  send(chain: string, body: unknown, options?: CallOptions): Promise<unknown>
  /** `fetch`, which signs in to this gateway, and pays what answers 402, here or at any other x402 resource. */
  fetch: typeof fetch
  plans(): Promise<Plan[]>
  /** Of this wallet, on every plan. */
  credits(): Promise<CreditBalance[]>
  history(page?: PageOptions): Promise<Page<UsageRecord>>
  payments(page?: PageOptions): Promise<Page<PaymentRecord>>
  /** Buys the credits of one payment, also if there are some left. */
  buy(options?: CallOptions): Promise<Purchase>
  keys: {
    list(): Promise<AccessKey[]>
    create(key: NewAccessKey): Promise<CreatedAccessKey>
    delete(id: string): Promise<void>
  }
  on<Name extends keyof TollgateEvents>(
    name: Name,
    listener: (event: TollgateEvents[Name]) => void,
  ): () => void
  /** Ends the session at the gateway. Credits stay. */
  signOut(): Promise<void>
  /** Stops what is under way; payments stay stored. */
  close(): void
}
