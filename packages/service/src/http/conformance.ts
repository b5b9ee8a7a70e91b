import { type Request, type Response } from 'express'
import { ApiError } from '../errors'

/**
 * The refusal of what HTTP/1.1 requires to refuse, and of handshakes; it closes the connection: a request without exactly one Host
 * header (RFC 9112, 3.2), one with an unknown expectation (RFC 9110, 10.1.1), and one that asks for another protocol.
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
        : asksForUpgrade(req)
          ? new ApiError('UPGRADE_REQUIRED', 'WebSocket is not served here; send requests by HTTP')
          : undefined
  // A 426 names the protocols that are served (RFC 9110, 15.5.22).
  const isRequired = reason?.code === 'UPGRADE_REQUIRED'
  if (isRequired) res.setHeader('Upgrade', 'HTTP/1.1')
  if (reason) res.setHeader('Connection', isRequired ? 'Upgrade, close' : 'close')
  return reason
}

/** Clients offer these on any request, and take an answer by HTTP/1.1 as well. */
const OFFERED = /^(?:h2c|http|tls)(?:\/|$)/i

/** Some proxies take the hop's headers out of a handshake; those of WebSocket itself stay, and would make it a plain GET. */
function asksForUpgrade({ headers }: Request): boolean {
  const { upgrade } = headers
  if (upgrade === undefined)
    return headers['sec-websocket-key'] !== undefined || headers['sec-websocket-version'] !== undefined
  return upgrade.split(',').some((protocol) => !OFFERED.test(protocol.trim()))
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
