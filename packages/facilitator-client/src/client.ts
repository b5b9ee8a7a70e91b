import {
  AssetList,
  IdempotencyKey,
  SettleResult,
  SupportedKinds,
  VerifyResult,
  type Asset,
  type NetworkKind,
  type SettleRequest,
  type VerifyRequest,
} from '@tollgate/protocol'
import axios, { type AxiosRequestConfig } from 'axios'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { inAttempts, type Attempts } from './attempts'
import { FacilitatorError } from './errors'
import { failureOf } from './failure'
import { clientHeaders } from './headers'

/** What a resource server asks of a facilitator. Each call rejects with `FacilitatorError`, and within its time. */
export type Facilitator = {
  /** Whether the payment would settle now. Takes nothing. */
  verify(request: VerifyRequest): Promise<VerifyResult>
  /**
   * Settles at most once per payment. The same request under the same `idempotencyKey` (visible ASCII, at most 128
   * characters) gets the first one's result again: so a caller that lost the answer asks again and is not charged twice.
   *
   * Nothing is asked again here once a byte may have left. Of two questions under way about one payment either may be
   * answered first: a refusal answered to the second would end a payment that the first one still settles. Only the caller
   * can know that no earlier question is open, so the caller asks again.
   *
   * `requestId` is sent as X-Request-Id, by which the log lines of both sides can be joined; one that is longer than 64
   * characters, or holds others than letters, digits, `_`, `.` and `-`, is not sent.
   */
  settle(
    request: SettleRequest,
    options: { idempotencyKey: string; requestId?: string | undefined },
  ): Promise<SettleResult>
  /** The networks that payments are taken on, if the client key is good for asking. */
  supported(): Promise<NetworkKind[]>
  /** The networks that payments are taken on, whoever asks. */
  networks(): Promise<NetworkKind[]>
  /** What payments are taken in. */
  assets(): Promise<Asset[]>
}

export type FacilitatorClientOptions = {
  /** The facilitator's API address, `https://host/api/v1`. */
  url: string
  clientId: string
  clientToken: string
  /** Bounds each call but `settle`, from its first attempt to its last. 5,000 unless given. */
  timeoutMs?: number
  /** Bounds `settle`, which waits for a chain. 45,000 unless given: longer than the facilitator itself waits. */
  settleTimeoutMs?: number
}

const MAX_ANSWER_BYTES = 1_048_576
/** As the facilitator takes it. */
const requestIdForm = /^[A-Za-z0-9_.-]{1,64}$/

/**
 * The facilitator over HTTP, with one client key. What changes nothing is attempted up to three times within its time, where
 * the connection fails or the facilitator answers 429 or 503; `settle` only where no connection came about.
 *
 * @throws TypeError for a client key that no header can carry
 */
export function createFacilitatorClient(options: FacilitatorClientOptions): Facilitator & { close(): void } {
  const { url, clientId, clientToken, timeoutMs = 5_000, settleTimeoutMs = 45_000 } = options
  const httpAgent = new HttpAgent({ keepAlive: true })
  const httpsAgent = new HttpsAgent({ keepAlive: true })
  const http = axios.create({
    baseURL: url,
    headers: clientHeaders(clientId, clientToken),
    maxRedirects: 0,
    maxContentLength: MAX_ANSWER_BYTES,
    validateStatus: (status) => status === 200,
    proxy: false,
    httpAgent,
    httpsAgent,
  })
  const harmless: Attempts = { timeoutMs, mayRepeat: ({ isTransient }) => isTransient }
  const settling: Attempts = { timeoutMs: settleTimeoutMs, mayRepeat: ({ notSent }) => notSent }

  /** The answer as its schema has it. */
  async function ask<T>(schema: Schema<T>, request: AxiosRequestConfig, attempts = harmless): Promise<T> {
    const { data } = await inAttempts(
      (signal) => http.request<unknown>({ ...request, signal }),
      failureOf,
      attempts,
    )
    const parsed = schema.safeParse(data)
    if (parsed.success) return parsed.data
    throw new FacilitatorError('unknown', 'The facilitator gave an answer that is none of the x402 protocol')
  }

  return {
    verify: (data) => ask(VerifyResult, { method: 'post', url: '/verify', data }),
    async settle(data, { idempotencyKey, requestId }) {
      if (!IdempotencyKey.safeParse(idempotencyKey).success)
        throw new FacilitatorError('rejected', 'An idempotency key has 1 to 128 visible ASCII characters')
      const headers = {
        'Idempotency-Key': idempotencyKey,
        ...(requestId !== undefined && requestIdForm.test(requestId) ? { 'X-Request-Id': requestId } : {}),
      }
      return ask(SettleResult, { method: 'post', url: '/settle', data, headers }, settling)
    },
    supported: async () => (await ask(SupportedKinds, { url: '/supported' })).kinds,
    networks: async () => (await ask(SupportedKinds, { url: '/networks' })).kinds,
    assets: async () => (await ask(AssetList, { url: '/assets' })).data,
    close() {
      httpAgent.destroy()
      httpsAgent.destroy()
    },
  }
}

type Schema<T> = { safeParse(input: unknown): { success: true; data: T } | { success: false } }
