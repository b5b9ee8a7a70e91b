import { type Http } from '../http.js'
import { TollgateError } from '../errors.js'
import { type Caller } from '../stops.js'
import { type RepeatableRequest } from './paying-fetch.js'

/** Reads the body of a request, so that it can be sent with a payment after it was sent without one. */
export async function repeatable(
  http: Http,
  input: RequestInfo | URL,
  init: RequestInit | undefined,
  commit: Caller['commit'],
): Promise<RepeatableRequest & { headers: Headers }> {
  // Without a signal: Node lets only so many requests listen to one. The members of a `Request` are not its own.
  const request = new Request(input, init instanceof Request ? init : { ...init, signal: null })
  if (request.integrity !== '')
    throw new TollgateError('INVALID_ARGUMENT', 'integrity: a 402 would never match it; check the answer')
  const { url, method, headers, redirect, cache, credentials, mode, referrerPolicy } = request
  // That of a `Request` follows its caller's only while the `Request`, `source`, is in memory.
  const signal = signalIn(input, init) ?? new AbortController().signal
  const bytes = new Uint8Array(await request.arrayBuffer())
  const body = bytes.length === 0 ? undefined : bytes
  const { dispatcher } = (init ?? {}) as { dispatcher?: unknown }
  const same = {
    ...{ method, signal, cache, credentials, mode, referrerPolicy },
    ...(body ? { body } : {}),
    // Of Node: a proxy.
    ...(dispatcher === undefined ? {} : { dispatcher }),
  }
  return {
    ...{ url, method, headers, body, signal, commit, source: input },
    // A payment is not carried to where a redirect leads: the redirect is the answer.
    send: (payment) =>
      payment
        ? http.send(payment.url, {
            ...same,
            headers: { ...Object.fromEntries(headers), ...payment.header },
            redirect: 'manual',
          })
        : http.send(url, { ...same, headers: Object.fromEntries(headers), redirect }),
  }
}

/** As `fetch` takes it: that of `init`, also if it is null, before that of a `Request`. */
export const signalIn = (input: RequestInfo | URL, init: RequestInit | undefined): AbortSignal | undefined =>
  (init?.signal === undefined && input instanceof Request ? input.signal : init?.signal) ?? undefined
