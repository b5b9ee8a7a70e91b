import { type RequestHandler } from 'express'

/** Lets pages of any origin read what everybody may read: GET and HEAD, without credentials. */
export const allowCrossOriginReads: RequestHandler = (req, res, next) => {
  const isPreflight = req.method === 'OPTIONS' && req.get('Access-Control-Request-Method') !== undefined
  if (req.method !== 'GET' && req.method !== 'HEAD' && !isPreflight) {
    next()
    return
  }
  res.set({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'X-Request-Id,Retry-After,RateLimit,RateLimit-Policy',
    'Cross-Origin-Resource-Policy': 'cross-origin',
  })
  if (!isPreflight) {
    next()
    return
  }
  res.set({
    'Access-Control-Allow-Methods': 'GET,HEAD',
    // Public clients name a Content-Type in requests without a body.
    'Access-Control-Allow-Headers': 'content-type,x-request-id',
    'Access-Control-Max-Age': '600',
  })
  res.status(204).end()
}

/** Paths below these are included. */
export const CROSS_ORIGIN_PATHS = [
  '/supported',
  '/discovery',
  '/.well-known/x402',
  '/api/v1/discovery',
  '/api/v2/discovery',
]
