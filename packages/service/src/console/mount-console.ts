import { type Express, type RequestHandler } from 'express'
import { type Console } from './create-console'

/** `limit`: of all requests but `/`, which is one header. */
export function mountConsole(
  app: Express,
  { redirect, page, asset, script }: Console,
  limit: RequestHandler,
): void {
  app.get('/', redirect)
  app.get('/console', limit, page)
  app.get('/console/development.js', limit, script)
  app.get('/console/assets/:file', limit, asset)
}
