import { TollgateError } from './errors.js'
import { createEvents, type TollgateEvents } from './events.js'
import { createAccountFetch, type AccountRequest } from './gateway/account-fetch.js'
import { createCalls } from './gateway/calls.js'
import { createGatewayClient, isSessionEnd } from './gateway/gateway-client.js'
import { createPlanChoice } from './gateway/plan-choice.js'
import { listOpenPayments, type OpenPayment } from './gateway/open-payments.js'
import { createPurchases, type BuyOptions, type Purchase } from './gateway/purchases.js'
import { isCallPath, pathBelow } from './gateway/routes.js'
import { createSessions } from './gateway/sessions.js'
import {
  type AccessKey,
  type CreatedAccessKey,
  type CreditBalance,
  type NewAccessKey,
  type PaymentRecord,
  type Plan,
  type UsageRecord,
} from './gateway/wire.js'
import { createHttp } from './http.js'
import { nodeAnswerOf, resultOf } from './json-rpc.js'
import { assertLimits, type Limits } from './limits.js'
import { createPaymentLog } from './payments/payment-log.js'
import { createPayingFetch } from './payments/paying-fetch.js'
import { createPreparePayment } from './payments/prepare-payment.js'
import { repeatable, signalIn } from './payments/repeatable-request.js'
import { untilStopped, type Caller } from './stops.js'
import { browserStorage } from './storage/browser-storage.js'
import { memoryStorage } from './storage/memory-storage.js'
import { type WalletStorage } from './storage/storage.js'
import { recognize } from './wallets/recognize.js'
import { type Wallet } from './wallets/wallet.js'
import { type WalletInput } from './wallets/wallet-input.js'

/** `signal` ends the waiting; a payment that was signed stays stored. */
export type CallOptions = { signal?: AbortSignal }

export type TollgateOptions = {
  /** The gateway's public URL. */
  url: string | URL
  /** An ethers v6 `Signer`, a viem account or wallet client, an EIP-1193 provider, or a CosmJS `OfflineSigner`. */
  wallet: WalletInput
  /** The number of a plan of `plans()`. Default: one that the wallet can pay within its limits, with credits left if there is one. */
  plan?: number
  /** Without them nothing is paid. */
  limits?: Limits
  /** Default: IndexedDB in a browser, else memory, which a crash empties. */
  storage?: WalletStorage
  /** In milliseconds, for the headers of an answer to come, and for a JSON body. Default: 60,000. */
  timeoutMs?: number
  /** The name that the gateway's short sign-in text carries, for a gateway that does not accept its own host as a domain. */
  serviceName?: string
  /**
   * Nodes by chain id, for the payer's account on Cosmos chains. Default: the gateway's provider, asked through the gateway in a
   * browser; its word is then taken.
   */
  nodes?: Record<string, string>
}

export { type AccountRequest, type BuyOptions, type OpenPayment, type Purchase }

/** The newest records first; `total` counts all there are. */
export type Page<T> = { data: T[]; total: number }
/** Asks for at most `limit` records, older than the one with the `id` of `before`. */
export type PageOptions = { limit?: number; before?: string | number }

export type Tollgate = {
  /** The gateway's, without a slash at its end. */
  url: string
  /** The wallet's account. */
  address(): Promise<string>
  /** One JSON-RPC call. @throws TollgateError RPC_ERROR with the node's error */
  request<T = unknown>(chain: string, method: string, params?: unknown, options?: CallOptions): Promise<T>
  /** A JSON-RPC body, an object or a batch, as it should reach the node; the node's answer as it came. */
  send(chain: string, body: unknown, options?: CallOptions): Promise<unknown>
  /**
   * `fetch`, which makes calls of this gateway in the wallet's session, and pays what answers 402, here or at any other x402 resource.
   * It has no access to the account: requests to other routes of the gateway go without a session.
   */
  fetch: typeof fetch
  /** A request to a route of the account below the gateway's URL, `/keys…` or `/webhooks…`, in its session. Not for agents. */
  accountFetch(path: string, request?: AccountRequest): Promise<Response>
  /** What is on sale, with prices. */
  plans(): Promise<Plan[]>
  /** What this wallet has left, on every plan. */
  credits(): Promise<CreditBalance[]>
  /** The calls that this wallet's credits paid, also those by access keys. */
  history(page?: PageOptions): Promise<Page<UsageRecord>>
  /** The payments of this wallet to the gateway. */
  payments(page?: PageOptions): Promise<Page<PaymentRecord>>
  /** Buys the credits of one payment, also if there are some left: of the plan in use, or else of one within the limits. */
  buy(options?: CallOptions & BuyOptions): Promise<Purchase>
  /** The signed payments for credits whose outcome is not known, as the storage has them; `buy()` sends the one of its plan again. */
  openPayments(): Promise<OpenPayment[]>
  /** Access keys, for programs without a wallet. */
  keys: {
    list(): Promise<AccessKey[]>
    /** Its secret is in this answer only. */
    create(key: NewAccessKey): Promise<CreatedAccessKey>
    /** Its calls are refused from now on. */
    delete(id: string): Promise<void>
  }
  /** Returns a function that removes the listener. */
  on<Name extends keyof TollgateEvents>(
    name: Name,
    listener: (event: TollgateEvents[Name]) => void,
  ): () => void
  /** Whether the account has a session on the plan in use: if the gateway has not ended it, `keys` asks the wallet for no signature. */
  isSignedIn(): Promise<boolean>
  /** Ends the account's sessions at the gateway. Credits stay. */
  signOut(): Promise<void>
  /** Stops what is under way; payments stay stored. */
  close(): void
}

const DEFAULT_TIMEOUT_MS = 60_000

/** @throws TollgateError INVALID_ARGUMENT, WALLET_UNSUPPORTED */
export function createTollgate(options: TollgateOptions): Tollgate {
  const { limits, timeoutMs = DEFAULT_TIMEOUT_MS, serviceName } = options
  const url = parseUrl(options.url)
  if (limits !== undefined) assertLimits(limits)
  const closing = new AbortController()
  const closed = closing.signal
  const wallet = stoppable(recognize(options.wallet), closed)
  const storage = stoppableStorage(options.storage ?? defaultStorage(), closed)
  const now = () => Date.now()
  const events = createEvents()
  const http = createHttp({ timeoutMs, closed })
  const gateway = createGatewayClient(url, http, now)

  async function nodeUrl(chainId: string): Promise<string> {
    const given = options.nodes?.[chainId]
    if (given !== undefined) return given
    // A page may be allowed to connect to the gateway only, and few nodes answer to pages.
    if (isBrowser()) return `${url}/accounts/${encodeURIComponent(chainId)}`
    const provider = (await gateway.providers()).find(
      ({ chain_id, rpc }) => chain_id === chainId && rpc.length > 0,
    )
    const [node] = provider?.rpc ?? []
    if (node !== undefined) return node
    throw new TollgateError(
      'INVALID_ARGUMENT',
      `nodes: give the URL of a node of ${chainId}, where the payer's account is read`,
    )
  }

  const plans = createPlanChoice({ gateway, wallet, limits, id: options.plan })
  const sessions = createSessions({ gateway, wallet, storage, events, plans, serviceName, now, closed })
  const log = createPaymentLog(storage, now)
  const preparing = createPreparePayment({ wallet, limits, log, storage, events, now, nodeUrl, closed })
  const paying = { log, ...preparing, storage, events, now, closed }
  const purchases = createPurchases({ gateway, sessions, ...paying })
  const calls = createCalls({ gateway, http, sessions, purchases, now, closed })
  const accountFetch = createAccountFetch({ gateway, http, sessions })
  const payingFetch = createPayingFetch({ http, payer: () => wallet.address(), ...paying })

  /** Whatever a call waits for, `close()` and its signal end it. */
  const live = <T>(begin: (commit: () => void) => Promise<T>, signal?: AbortSignal) =>
    untilStopped(begin, { closed, signal })

  /** Repeated once with a new token if the session has ended. */
  async function inSession<T>(task: (token: string) => Promise<T>): Promise<T> {
    const session = await sessions.open()
    try {
      return await task(session.token)
    } catch (error) {
      if (!isSessionEnd(error)) throw error
      return task((await sessions.renew(session, undefined)).token)
    }
  }

  let nextId = 1

  async function send(chain: string, body: unknown, { signal }: CallOptions = {}): Promise<unknown> {
    const path = `/v1/${encodeURIComponent(chain)}`
    if (!isCallPath(path)) throw new TollgateError('INVALID_ARGUMENT', 'chain: is no name of a chain')
    const answer = await calls.call(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
    return nodeAnswerOf(answer, await http.readJson(answer, { signal }))
  }

  async function sendPaid(
    input: RequestInfo | URL,
    init: RequestInit | undefined,
    commit: Caller['commit'],
  ): Promise<Response> {
    const request = await repeatable(http, input, init, commit)
    if (isPaidElsewhere(request.headers)) return request.send()
    const path = pathBelow(url, request.url)
    if (path === undefined) return payingFetch(request)
    if (!isCallPath(path)) return request.send()
    const { method, body, signal } = request
    const headers = Object.fromEntries(request.headers)
    return calls.call(path, { method, headers, signal, ...(body ? { body } : {}) })
  }

  return {
    url,
    address: () => live(() => wallet.address()),
    request: <T>(chain: string, method: string, params: unknown = [], callOptions: CallOptions = {}) =>
      live(async () => {
        const answer = await send(chain, { jsonrpc: '2.0', id: nextId++, method, params }, callOptions)
        return resultOf(answer) as T
      }, callOptions.signal),
    send: (chain, body, callOptions = {}) => live(() => send(chain, body, callOptions), callOptions.signal),
    fetch: (input, init) => live((commit) => sendPaid(input, init, commit), signalIn(input, init)),
    accountFetch: (path, request = {}) => live(() => accountFetch(path, request), request.signal),
    plans: () => live(() => gateway.plans()),
    credits: () => live(async () => gateway.credits(await wallet.address())),
    history: (page = {}) => live(async () => pageFrom(await gateway.history(await wallet.address(), page))),
    payments: (page = {}) => live(async () => pageFrom(await gateway.payments(await wallet.address(), page))),
    buy: ({ signal, wait = true } = {}) => live((commit) => purchases.buy({ signal, wait, commit }), signal),
    openPayments: () => live(async () => listOpenPayments(await log.list(await wallet.address()), url)),
    keys: {
      list: () => live(() => inSession((token) => gateway.keys.list(token))),
      create: (key) => live(() => inSession((token) => gateway.keys.create(token, key))),
      delete: (id) =>
        live(async () => {
          await inSession((token) => gateway.keys.delete(token, id))
        }),
    },
    on: (name, listener) => events.on(name, listener),
    isSignedIn: () => live(() => sessions.isStored()),
    signOut: () => live(() => sessions.end()),
    close: () => closing.abort(),
  }
}

/** A wallet that waits for its user, perhaps for ever, holds nothing up after `close()`. */
const stoppable = (wallet: Wallet, closed: AbortSignal): Wallet => ({
  ...wallet,
  address: () => untilStopped(() => wallet.address(), { closed }),
  signText: (text) => untilStopped(() => wallet.signText(text), { closed }),
})

/** A storage that does not answer holds nothing up after `close()`. What was to be replaced is replaced all the same. */
function stoppableStorage(storage: WalletStorage, closed: AbortSignal): WalletStorage {
  const held = <T>(begin: () => Promise<T>) => untilStopped(begin, { closed })
  return {
    get: (key) => held(() => storage.get(key)),
    create: (key, value) => held(() => storage.create(key, value)),
    delete: (key) => held(() => storage.delete(key)),
    list: (prefix) => held(() => storage.list(prefix)),
    set(key, value) {
      const work = storage.set(key, value)
      work.catch(() => undefined)
      return held(() => work)
    },
    lock: (name, task, signal) => storage.lock(name, task, signal),
    tryLock: (name, task) => storage.tryLock(name, task),
  }
}

const pageFrom = <T>({ data, pagination }: { data: T[]; pagination: { total: number } }): Page<T> => ({
  data,
  total: pagination.total,
})

function parseUrl(input: string | URL): string {
  const text = String(input)
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new TollgateError('INVALID_ARGUMENT', 'url must be the http(s) address of a gateway')
  const { origin, pathname } = new URL(text)
  return `${origin}${pathname.replace(/\/+$/, '')}`
}

const isBrowser = () => 'indexedDB' in globalThis
const defaultStorage = (): WalletStorage => (isBrowser() ? browserStorage() : memoryStorage())

const PAYING_HEADERS = ['authorization', 'x-payment', 'payment-signature', 'sign-in-with-x']

const isPaidElsewhere = (headers: Headers) => PAYING_HEADERS.some((name) => headers.has(name))
