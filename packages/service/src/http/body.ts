import { JsonError, readJson, type JsonDocument } from '@tollgate/protocol'
import { isAscii, isUtf8, transcode } from 'node:buffer'
import { type Request, type RequestHandler, type Response } from 'express'
import { endOfTurn } from '../end-of-turn'
import { ApiError } from '../errors'
import { addressKey, type Limiter } from '../rate-limit'
import { type Reservation } from './memory-budget'
import { createBodyReceiver, SMALL_BYTES } from './body-receiver'
import { createThrottledQueue } from './throttled-queue'

/** A body costs one rate limit point for each started piece of this size. */
export const POINT_BYTES = 16_384

export type BodyOptions = {
  limitBytes: number
  sender?: string
  /** A rate limit, called with the points of the body before it is read; rejects to refuse the request. */
  limit?: (points: number) => Promise<void>
}

export type ReadBody = (req: Request, res: Response, options: BodyOptions) => Promise<void>

/**
 * Reads JSON bodies, of any method; without one `req.body` stays undefined. Refuses bodies that are not JSON in UTF-8, or are
 * compressed, too large, ambiguous or too expensive to parse (see readJson). The memory stays reserved until the response
 * closes, or releaseBody.
 */
export function createBodyReader(): ReadBody {
  const receive = createBodyReceiver()
  const throttled = createThrottledQueue()

  return async (req, res, { limitBytes, sender, limit }) => {
    const { headers } = req
    const declared =
      headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined
    await limit?.(declared === undefined || declared > limitBytes ? 1 : pointsFor(declared))
    if (declared === 0) return
    refuseOtherMediaTypes(req)
    if (declared !== undefined && declared <= Math.min(SMALL_BYTES, limitBytes)) {
      if (!req.complete) await endOfTurn()
      const bytes = arrivedBody(req, declared)
      if (bytes) {
        parseBody(req, bytes)
        return
      }
    }
    const { bytes, memory } = await receive(req, { declared, limitBytes, sender })
    stateOf(req).memory = memory
    res.once('close', () => memory?.release())
    if (res.closed) memory?.release()
    const remainingPoints = declared === undefined ? pointsFor(bytes.length) - 1 : 0
    if (remainingPoints > 0) await limit?.(remainingPoints)
    if (bytes.length > SMALL_BYTES) await throttled(() => !res.closed && parseBody(req, bytes))
    else parseBody(req, bytes)
  }
}

/**
 * A small body that arrived with its head, as most do; after this turn of the event loop the parser has read both. It needs no
 * limits: nothing is waited for, and its memory is in use already.
 */
function arrivedBody(req: Request, length: number): Buffer | undefined {
  const bytes: unknown = req.complete ? req.read() : undefined
  return Buffer.isBuffer(bytes) && bytes.length === length ? bytes : undefined
}

const pointsFor = (bytes: number): number => Math.max(1, Math.ceil(bytes / POINT_BYTES))

export const bodyOf =
  (readBody: ReadBody, { limitBytes, limit }: { limitBytes: number; limit?: Limiter }): RequestHandler =>
  async (req, res, next) => {
    const byAddress = limit && ((points: number) => limit(addressKey(req), res, points))
    await readBody(req, res, { limitBytes, ...(byAddress ? { limit: byAddress } : {}) })
    next()
  }

type BodyState = {
  document?: ({ text: string } & Pick<JsonDocument, 'members'>) | undefined
  memory?: Reservation | undefined
}
const stateKey = Symbol('body')
const stateOf = (req: Request & { [stateKey]?: BodyState }): BodyState => (req[stateKey] ??= {})

/** The exact text of a member of the JSON body, so that it can be forwarded without changing a number in it. */
export function rawMember(req: Request, name: string): string | undefined {
  const { document } = stateOf(req)
  const range = document?.members.get(name)
  return document && range && document.text.slice(...range).trim()
}

/** The exact text of the whole JSON body, without the white space around it. */
export const rawBody = (req: Request): string | undefined => stateOf(req).document?.text.trim()

/** Drops the body, parsed and as text. Its memory stays reserved for values derived from it: see releaseBody. */
export function forgetBody(req: Request): void {
  req.body = undefined
  stateOf(req).document = undefined
}

/** Drops the body and releases its memory. Call it once no value derived from the body is in use. */
export function releaseBody(req: Request): void {
  forgetBody(req)
  stateOf(req).memory?.release()
}

/** None of them can be sent by a page of another origin without a preflight. Clients of JSON-RPC use the second and the third. */
const JSON_TYPES = /^application\/(?:json|json-rpc|jsonrequest|[\w.!#$&^-]+\+json)$/

function refuseOtherMediaTypes({ headers }: Request) {
  const [mediaType = '', ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';')
  if (!JSON_TYPES.test(mediaType.trim()))
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

function parseBody(req: Request, bytes: Buffer) {
  if (bytes.length === 0) return
  if (!isUtf8(bytes)) throw new ApiError('INVALID_REQUEST', 'The body is not valid UTF-8')
  const text = decodeUtf8(bytes)
  try {
    const { value, members } = readJson(text)
    req.body = value
    stateOf(req).document = { text, members }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new ApiError('INVALID_REQUEST', `The body cannot be read as JSON: ${error.message}`)
  }
}

/** Decodes by way of UTF-16: five times as fast as Buffer.toString for large texts that are not ASCII. */
const decodeUtf8 = (bytes: Buffer): string =>
  isAscii(bytes) ? bytes.toString('latin1') : transcode(bytes, 'utf8', 'utf16le').toString('utf16le')
