import { type Http } from '../http.js'
import { type RepeatableRequest } from './paying-fetch.js'

/** Reads the body of a request, so that it can be sent with a payment after it was sent without one. */
export async function repeatable(
  http: Http,
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<RepeatableRequest & { headers: Headers }> {
  const request = new Request(input, init)
  const { url, method, headers, redirect, cache, credentials, mode, referrerPolicy } = request
  // That of a `Request` follows its caller's only while the `Request`, `source`, is in memory.
  const signal = init?.signal ?? (input instanceof Request ? input.signal : new AbortController().signal)
  const bytes = new Uint8Array(await request.arrayBuffer())
  const body = bytes.length === 0 ? undefined : bytes
  const same = { method, signal, cache, credentials, mode, referrerPolicy, ...(body ? { body } : {}) }
  return {
    ...{ url, method, headers, body, signal, source: input },
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
