import { readBody } from './read-body'
import { type UpstreamExchange } from './upstream-exchange'

/** Texts in which a provider could show a key are shorter. */
const MAX_DECODED_BYTES = 65_536

/**
 * Blanks the secrets of an upstream in the buffered part of its answer: some servers repeat the path, with the key in it, where they find
 * nothing.
 */
export async function hideSecrets(
  exchanged: UpstreamExchange,
  secrets: readonly string[],
): Promise<UpstreamExchange> {
  if (exchanged.outcome !== 'answered') return exchanged
  const { answer } = exchanged
  const encoding = answer.headers['content-encoding']
  if (encoding === undefined) {
    blank(answer.body, secrets)
    return exchanged
  }
  const body = await readBody(answer, MAX_DECODED_BYTES)
  if (!body || !blank(body, secrets)) return exchanged
  const { 'content-encoding': _, ...headers } = answer.headers
  return { outcome: 'answered', answer: { ...answer, headers, body } }
}

/** Whether any was there. */
function blank(body: Buffer, secrets: readonly string[]): boolean {
  let found = false
  for (const secret of secrets)
    for (let at = body.indexOf(secret); at >= 0; at = body.indexOf(secret, at + secret.length)) {
      body.fill('*', at, at + secret.length)
      found = true
    }
  return found
}
