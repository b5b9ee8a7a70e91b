import { pipeline, Readable, Transform, type Duplex } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { readContent } from './read-body'
import { createSecretPattern, type SecretPattern } from './secret-pattern'
import { type Answer, type UpstreamExchange } from './upstream-exchange'

/** A longer content of a compressed answer is streamed. */
const MAX_DECODED_BYTES = 262_144

const EMPTY = Buffer.alloc(0)

const decompressors: Record<string, () => Duplex> = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** A provider's list is the key: it is another one whenever the secrets are read. */
const patterns = new WeakMap<readonly string[], SecretPattern>()

function patternOf(secrets: readonly string[]): SecretPattern {
  const known = patterns.get(secrets)
  if (known) return known
  const created = createSecretPattern(secrets)
  patterns.set(secrets, created)
  return created
}

/**
 * Blanks the secrets of an upstream in its answer: some servers repeat the path, with the key in it, where they find nothing. A
 * compressed answer, although none is asked for, is decompressed; one whose content cannot be read counts as broken off.
 */
export async function hideSecrets(
  exchanged: UpstreamExchange,
  secrets: readonly string[],
): Promise<UpstreamExchange> {
  if (exchanged.outcome !== 'answered') return exchanged
  const secretPattern = patternOf(secrets)
  const answer = withBlankHeaders(exchanged.answer, secretPattern)
  const decoded = answer.headers['content-encoding'] === undefined ? answer : await decode(answer)
  if (!decoded) {
    answer.rest?.destroy()
    return { outcome: 'reset' }
  }
  return { outcome: 'answered', answer: withBlankBody(decoded, secretPattern) }
}

function withBlankHeaders(answer: Answer, { pattern }: SecretPattern): Answer {
  const headers: Answer['headers'] = {}
  for (const [name, value] of Object.entries(answer.headers))
    headers[name] = Array.isArray(value)
      ? value.map((one) => blank(one, pattern))
      : value && blank(value, pattern)
  return { ...answer, headers }
}

async function decode(answer: Answer): Promise<Answer | undefined> {
  const { 'content-encoding': encoding, ...headers } = answer.headers
  const { status, body, rest } = answer
  if (String(encoding).toLowerCase() === 'identity' || (body.length === 0 && !rest))
    return { status, headers, body, rest }
  const decompressor = decompressors[String(encoding).toLowerCase()]
  if (!decompressor) return undefined
  const content = await readContent(answer, MAX_DECODED_BYTES)
  if (content === 'unreadable') return undefined
  if (content !== 'too_long') return { status, headers, body: content, rest: undefined }
  const compressed = Readable.from(chunksOf(answer), { objectMode: false })
  return { status, headers, body: EMPTY, rest: through(compressed, decompressor()) }
}

async function* chunksOf({ body, rest }: Answer): AsyncGenerator<Buffer> {
  yield body
  if (rest) for await (const chunk of rest) yield chunk as Buffer
}

function withBlankBody(answer: Answer, secretPattern: SecretPattern): Answer {
  const { body, rest } = answer
  if (!rest) return { ...answer, body: blankBytes(body, secretPattern.pattern) }
  const filter = createFilter(secretPattern)
  const first = filter.push(body)
  const blanking = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, filter.push(chunk)),
    flush: (done) => done(null, filter.end()),
  })
  return { ...answer, body: first, rest: through(rest, blanking) }
}

/** Its reader sees an error of the source; ending it ends the source. */
function through(source: Readable, transform: Duplex): Duplex {
  for (const stream of [source, transform]) stream.on('error', () => undefined)
  return pipeline(source, transform, () => undefined)
}

/** Blanks secrets in a text that comes in parts, and keeps back no more of it than a secret is long. */
function createFilter({ pattern, maxLength }: SecretPattern) {
  let kept = ''
  return {
    push(chunk: Buffer): Buffer {
      const text = kept + chunk.toString('latin1')
      // Whether a secret begins after that is not known yet.
      const known = Math.max(0, text.length - maxLength + 1)
      let blanked = ''
      let end = 0
      pattern.lastIndex = 0
      for (let match = pattern.exec(text); match && match.index < known; match = pattern.exec(text)) {
        blanked += text.slice(end, match.index) + '*'.repeat(match[0].length)
        end = pattern.lastIndex
      }
      blanked += text.slice(end, Math.max(end, known))
      kept = text.slice(Math.max(end, known))
      return Buffer.from(blanked, 'latin1')
    },
    end: (): Buffer => Buffer.from(blank(kept, pattern), 'latin1'),
  }
}

const blank = (text: string, pattern: RegExp) => text.replace(pattern, (found) => '*'.repeat(found.length))

function blankBytes(body: Buffer, pattern: RegExp): Buffer {
  const text = body.toString('latin1')
  const blanked = blank(text, pattern)
  return blanked === text ? body : Buffer.from(blanked, 'latin1')
}
