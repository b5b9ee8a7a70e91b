import { parseJson } from './json'

/** base64 of the JSON of `value`, ASCII only, as x402 headers carry it. */
export const encodeJson = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64')

const base64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** The JSON that `text` holds, in base64 or base64url; undefined where it is neither, not JSON, or could be read in two ways. */
export function decodeJson(text: string): unknown {
  if (!base64.test(text)) return undefined
  try {
    const decoder = new TextDecoder('utf-8', { fatal: true })
    return parseJson(decoder.decode(Buffer.from(text, 'base64')))
  } catch {
    return undefined
  }
}
