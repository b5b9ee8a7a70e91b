import { entryTexts } from '../json-rpc-ids'
import { matchResponses } from '../match-responses'
import { type PartOfBatch } from './attempt-at'
import { type BatchResponses } from './classify-answer'
import { parseJson } from './parse-json'
import { type RefusalKind } from './provider-refusals'
import { readBody } from './read-body'
import { withJson } from './replace-responses'
import { type Answer } from './upstream-exchange'
import { type UpstreamRequest } from './upstream-request'

export type BatchInPart = NonNullable<ReturnType<typeof createBatchInPart>>

/** The proxy buffers as much of an answer. */
const MAX_BYTES = 262_144

/**
 * A batch of which a provider refused entries: only those go to the next one, and its responses take their places. Undefined if it
 * cannot be told which entries were refused, as where two have one id and one response.
 */
export function createBatchInPart(outgoing: UpstreamRequest, { answer, batch }: PartOfBatch) {
  const payload = outgoing.payload.toString()
  const parsed = parseJson(payload)
  if (!Array.isArray(parsed)) return undefined
  const entries: readonly unknown[] = parsed
  const matches = matchResponses(entries, batch.responses)
  /** The entry of each refused response, by its place. */
  const remaining = new Map(
    matches
      .filter((match) => match.entries.length === match.responses.length)
      .flatMap((match) => match.responses.map((place, order) => [place, match.entries[order] ?? 0] as const))
      .filter(([place]) => batch.refused.has(place)),
  )
  if (remaining.size < batch.refused.size) return undefined

  const texts = entryTexts(payload.trimStart())
  const responses = [...batch.responses]
  const responseTexts = entryTexts(batch.text.trimStart())
  const refused = new Map(batch.refused)
  const part = (): PartOfBatch => {
    const text = `[${responseTexts.join()}]`
    return { answer: withJson(answer, text), batch: { text, responses, refused } }
  }

  /** Puts the responses of the next provider, with the kinds of those that it refused, in the places of their entries. */
  function put(text: string, next: readonly unknown[], nextRefused: BatchResponses['refused']) {
    const places = [...remaining]
    const nextTexts = entryTexts(text.trimStart())
    const sent = places.map(([, entry]) => entries[entry])
    for (const match of matchResponses(sent, next)) {
      if (match.entries.length !== match.responses.length) continue
      for (const [order, from] of match.responses.entries()) {
        const [place = 0] = places[match.entries[order] ?? 0] ?? []
        const kind = nextRefused.get(from)
        if (kind) refused.set(place, dominant(refused.get(place), kind))
        else {
          responses[place] = next[from]
          responseTexts[place] = nextTexts[from] ?? ''
          refused.delete(place)
          remaining.delete(place)
        }
      }
    }
  }

  return {
    part,
    isComplete: () => remaining.size === 0,
    /** Asks for no compression, so that its responses can be put between the others. */
    rest: (): UpstreamRequest => ({
      ...outgoing,
      payload: Buffer.from(`[${[...remaining.values()].map((entry) => texts[entry]).join()}]`),
      acceptEncoding: undefined,
    }),
    /** The next provider refused the rest as a whole. */
    refuse(kind: RefusalKind) {
      for (const place of remaining.keys()) refused.set(place, dominant(refused.get(place), kind))
    },
    /** Adds what the next provider answered to the rest. Returns a long answer, which is streamed behind the others. */
    async add({ answer: next, batch: parts }: { answer: Answer; batch?: BatchResponses | undefined }) {
      if (parts) {
        put(parts.text, parts.responses, parts.refused)
        return undefined
      }
      if (next.rest) {
        const streamed = behind(
          responseTexts.filter((_, place) => !remaining.has(place)),
          next,
        )
        if (!streamed) next.rest.destroy()
        return streamed
      }
      const text = (await readBody(next, MAX_BYTES))?.toString()
      const body = text === undefined ? undefined : parseJson(text)
      if (text !== undefined && Array.isArray(body)) put(text, body, new Map())
      return undefined
    },
  }
}

/** The caller can do something about the query only. */
export const dominant = (known: RefusalKind | undefined, next: RefusalKind): RefusalKind => {
  if (known === 'query_limit' || next === 'query_limit') return 'query_limit'
  return known === 'plan' ? known : next
}

/** A list whose first elements are given: the order of responses says nothing. */
function behind(texts: readonly string[], next: Answer): Answer | undefined {
  const start = /^\s*\[/.exec(next.body.toString('latin1', 0, 64))?.[0]
  if (start === undefined || next.headers['content-encoding'] !== undefined) return undefined
  const head = Buffer.from(`[${texts.map((text) => `${text},`).join('')}`)
  return { ...next, body: Buffer.concat([head, next.body.subarray(start.length)]) }
}
