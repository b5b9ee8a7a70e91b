import { type Request, type Response } from 'express'
import { type OpenApiDocument } from './document'
import { llmsText, type Link } from './llms'
import { pagePolicy, referencePage } from './page'
import { serveViewer } from './viewer'

/** Short, because the next version may change the document. */
const MAX_AGE_SECONDS = 300

/** `readJson`: the document as JSON, if it has parts that change. */
export function createReference(
  document: OpenApiDocument,
  links: readonly Link[],
  readJson: () => Promise<string> = constantly(JSON.stringify(document)),
) {
  const page = referencePage(document)
  const text = llmsText(document, links)
  const cacheable = (res: Response) => res.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`)

  return {
    async openapi(_req: Request, res: Response) {
      const json = await readJson()
      cacheable(res).type('json').send(json)
    },

    docs(req: Request, res: Response) {
      // The links of the page are relative, so that a proxy may serve it below a prefix.
      if (req.path.endsWith('/')) cacheable(res).redirect(308, '../docs')
      else cacheable(res).set('Content-Security-Policy', pagePolicy).type('html').send(page)
    },

    viewer: serveViewer,

    llms(_req: Request, res: Response) {
      cacheable(res).type('text/plain').send(text)
    },
  }
}

const constantly = (text: string) => () => Promise.resolve(text)
