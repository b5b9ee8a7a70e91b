import { JsonError, memberText, parseJson } from '@tollgate/protocol'
import { isUtf8 } from 'node:buffer'
import express, { type Request, type RequestHandler } from 'express'
import { ApiError } from '../errors'

declare global {
  // eslint-disable-next-line @typescript-eslint/no-namespace -- the one way to add a member to Express' Request
  namespace Express {
    interface Request {
      /** The body's bytes as they were sent, but for compression; undefined where there was none. */
      rawBody?: Buffer
    }
  }
}

/**
 * The text of one member of the JSON body, exactly as it was sent: for passing it on without changing the meaning of a
 * single number in it. Undefined where the body has no such member.
 */
export const rawMember = (req: Request, name: string): string | undefined =>
  req.rawBody && memberText(req.rawBody.toString(), name)

/**
 * Reads JSON bodies, of any method, into `req.body` and `req.rawBody`; without a body both stay undefined. Refuses what
 * is not JSON in UTF-8, what could be read in two ways (see parseJson), and what is larger than the limit once decompressed.
 * A limit that depends on the request is asked for before any of the body is read.
 */
export function jsonBody(limit: number | ((req: Request) => number)): RequestHandler {
  return (req, res, next) => {
    if (!hasBody(req)) {
      next()
      return
    }
    refuseOtherMediaTypes(req.headers['content-type'] ?? '')
    const limitBytes = typeof limit === 'number' ? limit : limit(req)
    // Express would first wait for all of it.
    if (Number(req.headers['content-length']) > limitBytes) throw tooLarge(limitBytes)
    const read: RequestHandler = express.raw({ type: () => true, limit: limitBytes })
    read(req, res, (error?: unknown) => {
      if (error !== undefined) {
        next(refusal(error, limitBytes))
        return
      }
      try {
        takeJson(req)
        next()
      } catch (problem) {
        next(problem)
      }
    })
  }
}

const hasBody = ({ headers }: Request) =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

function refuseOtherMediaTypes(contentType: string) {
  const [mediaType = '', ...parameters] = contentType.toLowerCase().split(';')
  if (mediaType.trim() !== 'application/json')
    throw new ApiError(
      'INVALID_REQUEST',
      'Send the body as JSON, with the header Content-Type: application/json',
    )
  const charset = parameters.map((text) => text.trim()).find((text) => text.startsWith('charset='))
  if (charset !== undefined && !/^charset="?utf-?8"?$/.test(charset))
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body in UTF-8')
}

function takeJson(req: Request) {
  const bytes: unknown = req.body
  req.body = undefined
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return
  if (!isUtf8(bytes)) throw new ApiError('INVALID_REQUEST', 'The body is not valid UTF-8')
  try {
    req.body = parseJson(bytes.toString())
    req.rawBody = bytes
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new ApiError('INVALID_REQUEST', `The body cannot be read as JSON: ${error.message}`)
  }
}

const tooLarge = (limitBytes: number) =>
  new ApiError('PAYLOAD_TOO_LARGE', `The body is too large; at most ${limitBytes} bytes are taken`)

/** What the body reader says, in our words. */
function refusal(error: unknown, limitBytes: number): unknown {
  const { type, status } = error as { type?: unknown; status?: unknown }
  if (type === 'entity.too.large') return tooLarge(limitBytes)
  if (type === 'encoding.unsupported')
    return new ApiError(
      'UNSUPPORTED_MEDIA_TYPE',
      'Send the body uncompressed, or with Content-Encoding gzip, deflate or br',
    )
  if (typeof status === 'number' && status < 500)
    return new ApiError(
      'INVALID_REQUEST',
      'The body could not be read; check its length and Content-Encoding',
      {
        cause: error,
      },
    )
  return error
}
