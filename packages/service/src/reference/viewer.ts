import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Request, type Response } from 'express'
import { ApiError } from '../errors'
import { UNREAD_TIMEOUT_MS } from '../http/server'

const root = dirname(require.resolve('swagger-ui-dist/package.json'))
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

/** The names contain the version, so a copy never goes stale. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable'

const files = ['swagger-ui.css', 'swagger-ui-bundle.js'] as const

export const viewerPath = (file: (typeof files)[number]) => `docs/${version}/${file}`

export function serveViewer(req: Request, res: Response) {
  const file = files.find((name) => req.params['version'] === version && req.params['file'] === name)
  if (!file) throw new ApiError('NOT_FOUND', 'The API reference has no such file; load /docs again')
  // `send` would apply If-Match and Range, which no other response of the service does.
  req.headers = {}
  res.setTimeout(UNREAD_TIMEOUT_MS)
  res.set('Cache-Control', CACHE_CONTROL)
  res.sendFile(file, { root, acceptRanges: false, cacheControl: false, etag: false, lastModified: false })
}
