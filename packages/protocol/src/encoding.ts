import { parseJson } from './json'

/** base64 of JSON, as in x402 headers. */
export const encodeJson = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** Accepts base64 and base64url. Undefined if the text is not base64, not JSON, or ambiguous JSON. */
export function decodeJson(text: string): unknown {
  if (!base64.test(text)) return undefined
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    return parseJson(decoder.decode(Buffer.from(text, 'base64')))
  } catch {
    return undefined
  }
}
