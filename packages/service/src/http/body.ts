import { JsonError, readJson, type JsonDocument } from '@tollgate/protocol'
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { type Request, type RequestHandler, type Response } from 'express'
import { ApiError } from '../errors'
import { addressKey, type Limiter } from '../rate-limit'
import { type Reservation } from './budget'
import { createLane } from './lane'
import { createUploadRoom, SMALL_BYTES } from './upload-room'

/** What a rate limit counts as one request: a body costs a point for each begun piece of this size. */
export const POINT_BYTES = 16_384

export type BodyOptions = {
  limitBytes: number
  /** Who sends it, where credentials have shown that: a wallet, a client key, a user. */
  sender?: string
  /** A rate limit, which is asked for so many points before any of the body is read; it rejects to refuse the request. */
  limit?: (points: number) => Promise<void>
}

/** Reads a body, if there is one, into `req.body`. */
export type ReadBody = (req: Request, res: Response, options: BodyOptions) => Promise<void>

/**
 * Reads JSON bodies, of any method; without one `req.body` stays undefined. Refuses what is not JSON in UTF-8, compressed, too
 * large, ambiguous, or more work than it may be (see readJson). Bodies that are read at once have a bound, in number and
 * bytes, for each sender, each address and the process. The memory stays reserved until the answer is over, or releaseBody.
 */
export function createBodyReader(): ReadBody {
  const read = createUploadRoom()
  const inLane = createLane()

  return async (req, res, { limitBytes, sender, limit }) => {
    const { headers } = req
    const declared =
      headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
    await limit?.(declared === undefined || declared > limitBytes ? 1 : pointsFor(declared))
    if (declared === 0) return
    refuseOtherMediaTypes(req)
    const { bytes, memory } = await read(req, { declared, limitBytes, sender })
    keptOf(req).memory = memory
    res.once('close', () => memory?.release())
    if (res.closed) memory?.release()
    const more = declared === undefined ? pointsFor(bytes.length) - 1 : 0
    if (more > 0) await limit?.(more)
    if (bytes.length > SMALL_BYTES) await inLane(() => !res.closed && takeJson(req, bytes))
    else takeJson(req, bytes)
  }
}

const pointsFor = (bytes: number): number => Math.max(1, Math.ceil(bytes / POINT_BYTES))

/** Reads the bodies of routes that are open to all; `limit` counts them by address. */
export const bodyOf =
  (readBody: ReadBody, { limitBytes, limit }: { limitBytes: number; limit?: Limiter }): RequestHandler =>
  async (req, res, next) => {
    const byAddress = limit && ((points: number) => limit(addressKey(req), res, points))
    await readBody(req, res, { limitBytes, ...(byAddress ? { limit: byAddress } : {}) })
    next()
  }

type Kept = {
  document?: { text: string } & Pick<JsonDocument, 'members'>
  memory?: Reservation | undefined
}
const kept = new WeakMap<Request, Kept>()
const keptOf = (req: Request): Kept => {
  const own = kept.get(req) ?? {}
  kept.set(req, own)
  return own
}

/**
 * The text of one member of the JSON body, exactly as it was sent: for passing it on without changing the meaning of a
 * single number in it. Undefined where the body has no such member, or was forgotten.
 */
export function rawMember(req: Request, name: string): string | undefined {
  const document = kept.get(req)?.document
  const place = document?.members.get(name)
  return document && place && document.text.slice(...place).trim()
}

/** Drops the body, parsed and as text. Its memory stays reserved for what was made of it. */
export function forgetBody(req: Request): void {
  req.body = undefined
  delete keptOf(req).document
}

/** Says that nothing is left in memory of a body or what was made of it. */
export function releaseBody(req: Request): void {
  forgetBody(req)
  keptOf(req).memory?.release()
}

function refuseOtherMediaTypes({ headers }: Request) {
  const [mediaType = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  if (mediaType.trim() !== 'application/json')
    throw new ApiError(
      'INVALID_REQUEST',
      'Send the body as JSON, with the header Content-Type: application/json',
    )
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body in UTF-8')
  if ((headers['content-encoding'] || 'identity').trim().toLowerCase() !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body uncompressed, without Content-Encoding')
}

function takeJson(req: Request, bytes: Buffer) {
  if (bytes.length === 0) return
  if (!isUtf8(bytes)) throw new ApiError('INVALID_REQUEST', 'The body is not valid UTF-8')
  const text = decoded(bytes)
  try {
    const { value, members } = readJson(text)
    req.body = value
    keptOf(req).document = { text, members }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new ApiError('INVALID_REQUEST', `The body cannot be read as JSON: ${error.message}`)
  }
}

/** By way of UTF-16, which takes a fifth of the time that Buffer.toString takes for large texts beyond ASCII. */
const decoded = (bytes: Buffer): string =>
  isAscii(bytes) ? bytes.toString('latin1') : transcode(bytes, 'utf8', 'utf16le').toString('utf16le')
