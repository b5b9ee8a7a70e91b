const rawHeaders = (clientId: string, clientToken: string) => ({
  'X-Client-ID': clientId,
  'X-Client-Token': clientToken,
})

/** @throws TypeError for a client key with invalid header characters; the message does not contain the key */
export function clientHeaders(clientId: string, clientToken: string): Record<string, string> {
  const headers = rawHeaders(clientId, clientToken)
  for (const [name, value] of Object.entries(headers))
    if (!/^[\x21-\x7e]+$/.test(value))
      throw new TypeError(`${name} must be visible ASCII characters, as POST /clients gave them`)
  return headers
}

/**
 * `createAuthHeaders` for `x402-express` 1.2 and `HTTPFacilitatorClient` of `@x402/core` 2. The facilitator's
 * other endpoints are public.
 *
 * @throws TypeError for a client key with invalid header characters
 */
export function createAuthHeaders(clientId: string, clientToken: string) {
  const headers = clientHeaders(clientId, clientToken)
  return () => Promise.resolve({ verify: headers, settle: headers, supported: headers })
}

/**
 * The facilitator's configuration for `paymentMiddleware` of `x402-express` (`https://host/api/v1`) and for
 * `HTTPFacilitatorClient` of `@x402/core` (`https://host/api/v2`).
 *
 * @throws TypeError for an invalid URL, or a client key with invalid header characters
 */
export function facilitatorConfig(address: string, { clientId, clientToken }: ClientKey) {
  // The libraries append a slash in any case.
  const url = address.replace(/\/+$/, '')
  if (!isUrl(url)) throw new TypeError('The facilitator must be given as a URL with http or https')
  return { url, createAuthHeaders: createAuthHeaders(clientId, clientToken) }
}

type ClientKey = { clientId: string; clientToken: string }

const isUrl = (text: string): text is `${string}://${string}` => /^https?:\/\/[^/]/.test(text)
