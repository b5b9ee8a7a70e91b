import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { type Request, type RequestHandler, type Response } from 'express'
import { ApiError } from '../errors'
import { UNREAD_TIMEOUT_MS } from '../http/server'

/** The names contain a hash of the content. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable'
const NONCE = /__CSP_NONCE__/g

const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/** In order of preference. */
const ENCODINGS = [
  { name: 'br', suffix: '.br' },
  { name: 'gzip', suffix: '.gz' },
]

export type ConsoleOptions = {
  /** What `apps/console` built for this service: index.html and assets/. */
  folder: string
  /** The file of a script that the page loads before its own, for development only. */
  developmentScript?: string | undefined
  /** Whether pages link to public block explorers, which know no network of one's own with the chain id of a public one. */
  hasExplorerLinks?: boolean
}

export type Console = ReturnType<typeof createConsole>

/**
 * Serves the pages of one service below `/console/`. Nothing may load from another host; inline scripts are forbidden, inline
 * styles need the nonce of the response.
 */
export function createConsole({ folder, developmentScript, hasExplorerLinks = true }: ConsoleOptions) {
  const assets = join(folder, 'assets')
  const names = new Set(existsSync(assets) ? readdirSync(assets) : [])
  const template = readTemplate(folder, developmentScript, hasExplorerLinks)

  return {
    /** A relative address, so that a proxy may serve the console below a prefix. */
    redirect(_req: Request, res: Response) {
      res.set('Cache-Control', 'no-store').redirect(302, 'console/')
    },

    page(req: Request, res: Response) {
      if (!req.path.endsWith('/')) {
        res.redirect(308, 'console/')
        return
      }
      if (template === undefined)
        throw new ApiError(
          'NOT_FOUND',
          'The console is not built; run pnpm build, then start the service again',
        )
      const nonce = randomBytes(16).toString('base64')
      res.set({ 'Cache-Control': 'no-store', 'Content-Security-Policy': policyOf(nonce) })
      res.type('html').send(template.replace(NONCE, nonce))
    },

    asset(req: Request, res: Response) {
      const name = String(req.params['file'])
      const type = TYPES[extname(name)]
      if (!names.has(name) || type === undefined)
        throw new ApiError('NOT_FOUND', 'The console has no such file; load its page again')
      const encoding = ENCODINGS.find((one) => names.has(name + one.suffix) && req.acceptsEncodings(one.name))
      if (encoding) res.set('Content-Encoding', encoding.name)
      res.set({ 'Cache-Control': CACHE_CONTROL, 'Content-Type': type, Vary: 'Accept-Encoding' })
      sendFile(req, res, join(assets, name + (encoding?.suffix ?? '')))
    },

    /** 404 unless the service runs for development. */
    script(req: Request, res: Response) {
      if (developmentScript === undefined)
        throw new ApiError('NOT_FOUND', 'The console has no such file; load its page again')
      res.set({ 'Cache-Control': 'no-store', 'Content-Type': TYPES['.js'] })
      sendFile(req, res, developmentScript)
    },
  } satisfies Record<string, RequestHandler>
}

function readTemplate(
  folder: string,
  developmentScript: string | undefined,
  hasExplorerLinks: boolean,
): string | undefined {
  const file = join(folder, 'index.html')
  if (!existsSync(file)) return undefined
  const built = readFileSync(file, 'utf8')
  const page = hasExplorerLinks ? built : built.replace('<html', '<html data-explorers="none"')
  const script = '<script src="development.js" nonce="__CSP_NONCE__"></script>'
  return developmentScript === undefined ? page : page.replace('<script', `${script}<script`)
}

const policyOf = (nonce: string) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join(';')

function sendFile(req: Request, res: Response, file: string) {
  // `send` would apply If-Match and Range, which no other response of the service does.
  req.headers = {}
  res.setTimeout(UNREAD_TIMEOUT_MS)
  res.sendFile(file, {
    dotfiles: 'allow',
    acceptRanges: false,
    cacheControl: false,
    etag: false,
    lastModified: false,
  })
}
