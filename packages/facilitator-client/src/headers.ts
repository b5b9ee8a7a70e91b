const named = (clientId: string, clientToken: string) => ({
  'X-Client-ID': clientId,
  'X-Client-Token': clientToken,
})

/**
 * The client key as the facilitator takes it.
 *
 * @throws TypeError for a key that no header can carry; the key is not repeated
 */
export function clientHeaders(clientId: string, clientToken: string): Record<string, string> {
  const headers = named(clientId, clientToken)
  for (const [name, value] of Object.entries(headers))
    if (!/^[\x21-\x7e]+$/.test(value))
      throw new TypeError(`${name} must be visible ASCII characters, as POST /clients gave them`)
  return headers
}

/**
 * The client key in the form that the public x402 libraries take: `createAuthHeaders` of `x402-express` 1.2 and of
 * `HTTPFacilitatorClient` of `@x402/core` 2. What they ask of the facilitator beside these three is open to all.
 *
 * @throws TypeError for a key that no header can carry; the key is not repeated
 */
export function createAuthHeaders(clientId: string, clientToken: string) {
  const headers = clientHeaders(clientId, clientToken)
  return () => Promise.resolve({ verify: headers, settle: headers, supported: headers })
}

/**
 * A facilitator as the public x402 libraries take it: for `paymentMiddleware` of `x402-express` at `https://host/api/v1`, for
 * `HTTPFacilitatorClient` of `@x402/core` at `https://host/api/v2`.
 *
 * @throws TypeError for an address that is no URL, or a key that no header can carry
 */
export function facilitatorConfig(address: string, { clientId, clientToken }: ClientKey) {
  // The libraries put a slash after it, whether it ends with one or not.
  const url = address.replace(/\/+$/, '')
  if (!isUrl(url)) throw new TypeError('The facilitator must be given as a URL with http or https')
  return { url, createAuthHeaders: createAuthHeaders(clientId, clientToken) }
}

type ClientKey = { clientId: string; clientToken: string }

const isUrl = (text: string): text is `${string}://${string}` => /^https?:\/\/[^/]/.test(text)
