import {
  AssetList,
  IdempotencyKey,
  SettlementAnswer,
  SettlementPage,
  SettleResult,
  SupportedKinds,
  VerifyResult,
  type Asset,
  type NetworkKind,
  type SettlementDetails,
  type SettlementsQuery,
  type SettleRequest,
  type VerifyRequest,
} from '@tollgate/protocol'
import axios, { type AxiosRequestConfig } from 'axios'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { withRetries, type Attempts } from './attempts'
import { FacilitatorError } from './errors'
import { failureOf } from './failure'
import { clientHeaders } from './headers'

/** Of the caller, such as `traceparent`. They replace none of the client's own. */
type MoreHeaders = Readonly<Record<string, string>>

/** The calls of a resource server to a facilitator. Each rejects with `FacilitatorError`, within its timeout. */
export type Facilitator = {
  verify(request: VerifyRequest, options?: { headers?: MoreHeaders }): Promise<VerifyResult>
  /**
   * Settles at most once per payment. Idempotent: the same request with the same `idempotencyKey` (visible ASCII, at most 128
   * characters) returns the first result.
   *
   * The client does not retry once a byte may have been sent: of two concurrent requests for a payment the second may be
   * refused while the first still settles. The caller retries once no earlier request is open.
   *
   * `requestId` is sent as X-Request-Id, to join the logs of both sides. It is dropped unless it has at most 64 letters, digits,
   * `_`, `.` and `-`.
   */
  settle(
    request: SettleRequest,
    options: { idempotencyKey: string; requestId?: string | undefined; headers?: MoreHeaders },
  ): Promise<SettleResult>
  supported(): Promise<NetworkKind[]>
  /** Public: requires no client key. */
  networks(): Promise<NetworkKind[]>
  assets(): Promise<Asset[]>
  /** Of the client key; its scope must cover `settlements`. */
  settlements: {
    /** Newest first; `next` is the `cursor` of the next page. */
    list(query?: Partial<SettlementsQuery>): Promise<SettlementPage['data']>
    /** By its id, payment identifier or transaction hash; undefined if the key has no such settlement. */
    get(id: string): Promise<SettlementDetails | undefined>
  }
}

export type FacilitatorClientOptions = {
  url: string
  clientId: string
  clientToken: string
  /** Of all attempts of a call other than `settle`; 5,000 by default. */
  timeoutMs?: number
  /** Of `settle`; 45,000 by default. Must exceed the facilitator's own timeout. */
  settleTimeoutMs?: number
}

const MAX_RESPONSE_BYTES = 1_048_576
const requestIdPattern = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * The facilitator over HTTP. A call without side effects is attempted up to three times if the connection fails or the response
 * is 429 or 503; `settle` only if no connection was made.
 *
 * @throws TypeError for a client key with invalid header characters
 */
export function createFacilitatorClient(options: FacilitatorClientOptions): Facilitator & { close(): void } {
  const { url, clientId, clientToken, timeoutMs = 5_000, settleTimeoutMs = 45_000 } = options
  const ownHeaders = clientHeaders(clientId, clientToken)
  const httpAgent = new HttpAgent({ keepAlive: true })
  const httpsAgent = new HttpsAgent({ keepAlive: true })
  const http = axios.create({
    baseURL: url,
    headers: ownHeaders,
    maxRedirects: 0,
    maxContentLength: MAX_RESPONSE_BYTES,
    validateStatus: (status) => status === 200,
    proxy: false,
    httpAgent,
    httpsAgent,
  })
  const safe: Attempts = { timeoutMs, mayRetry: ({ isTransient }) => isTransient }
  const settling: Attempts = { timeoutMs: settleTimeoutMs, mayRetry: ({ notSent }) => notSent }

  async function send<T>(schema: Schema<T>, request: AxiosRequestConfig, attempts = safe): Promise<T> {
    const { data } = await withRetries(
      (signal) => http.request<unknown>({ ...request, signal }),
      failureOf,
      attempts,
    )
    const parsed = schema.safeParse(data)
    if (parsed.success) return parsed.data
    throw new FacilitatorError('unknown', 'The response of the facilitator does not match the x402 protocol')
  }

  return {
    verify: (data, { headers = {} } = {}) =>
      send(VerifyResult, { method: 'post', url: '/verify', data, headers: { ...headers, ...ownHeaders } }),
    async settle(data, { idempotencyKey, requestId, headers: more = {} }) {
      if (!IdempotencyKey.safeParse(idempotencyKey).success)
        throw new FacilitatorError('rejected', 'An idempotency key has 1 to 128 visible ASCII characters')
      const headers = {
        ...more,
        ...ownHeaders,
        'Idempotency-Key': idempotencyKey,
        ...(requestId !== undefined && requestIdPattern.test(requestId) ? { 'X-Request-Id': requestId } : {}),
      }
      return send(SettleResult, { method: 'post', url: '/settle', data, headers }, settling)
    },
    supported: async () => (await send(SupportedKinds, { url: '/supported' })).kinds,
    networks: async () => (await send(SupportedKinds, { url: '/networks' })).kinds,
    assets: async () => (await send(AssetList, { url: '/assets' })).data,
    settlements: {
      list: async (params = {}) => (await send(SettlementPage, { url: '/settlements', params })).data,
      async get(id) {
        try {
          return (await send(SettlementAnswer, { url: `/settlements/${encodeURIComponent(id)}` })).data
        } catch (error) {
          if (error instanceof FacilitatorError && error.code === 'NOT_FOUND') return undefined
          throw error
        }
      },
    },
    close() {
      httpAgent.destroy()
      httpsAgent.destroy()
    },
  }
}

type Schema<T> = { safeParse(input: unknown): { success: true; data: T } | { success: false } }
