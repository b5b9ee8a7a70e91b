import { type Request } from 'express'

const MAX_LENGTH = 200

/** Of what a client calls itself, the printable ASCII. */
export function userAgentOf(req: Pick<Request, 'get'>): string | null {
  const text = (req.get('User-Agent') ?? '').replace(/[^\x20-\x7e]+/g, '')
  return text.trim().slice(0, MAX_LENGTH).trimEnd() || null
}
