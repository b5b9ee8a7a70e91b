import { type Request, type Response } from 'express'
import { type OpenApiDocument } from './document'
import { llmsText, type Link } from './llms'
import { pagePolicy, referencePage } from './page'

/** How long a copy may be kept, in seconds: the next version may say something else. */
const MAX_AGE_SECONDS = 300

/** Handlers for the reference of a service: the document, the page and the text, each written once. */
export function createReference(document: OpenApiDocument, links: readonly Link[]) {
  const json = JSON.stringify(document)
  const page = referencePage(document)
  const text = llmsText(document, links)
  const kept = (res: Response) => res.set('Cache-Control', `public, max-age=${MAX_AGE_SECONDS}`)

  return {
    openapi(_req: Request, res: Response) {
      kept(res).type('json').send(json)
    },

    docs(_req: Request, res: Response) {
      kept(res).set('Content-Security-Policy', pagePolicy).type('html').send(page)
    },

    llms(_req: Request, res: Response) {
      kept(res).type('text/plain').send(text)
    },
  }
}
