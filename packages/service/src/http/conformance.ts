import { type Request, type Response } from 'express'
import { ApiError } from '../errors'

/**
 * The refusal of what HTTP/1.1 requires to refuse; it closes the connection: a request without exactly one Host header
 * (RFC 9112, 3.2), and one with an unknown expectation (RFC 9110, 10.1.1).
 */
export function refusalOf(req: Request, res: Response): ApiError | undefined {
  const { expect } = req.headers
  const hosts = countOf('host', req.rawHeaders)
  const lacksHost = hosts === 0 && req.httpVersion === '1.1'
  const reason =
    lacksHost || hosts > 1
      ? new ApiError('INVALID_REQUEST', 'Send exactly one Host header')
      : expect !== undefined && !/\b100-continue\b/i.test(expect)
        ? new ApiError('EXPECTATION_FAILED', 'Send no Expect header, or Expect: 100-continue')
        : undefined
  if (reason) res.setHeader('Connection', 'close')
  return reason
}

/** The list alternates names and values. */
function countOf(wanted: string, rawHeaders: readonly string[]) {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === wanted.length && name.toLowerCase() === wanted) count++
  }
  return count
}
