import { type RequestHandler, type Response, type Router } from 'express'
import { ApiError } from '../errors'

/**
 * Makes 405 with `Allow`, not 404, of a request whose path a route of this router serves with other methods only. Call it
 * on a router that is mounted on the app, after its routes; createApp does so for the app's own.
 */
export function noteOtherMethods(router: Router) {
  const methodsOf = new Map<string, Set<string>>()
  for (const { route } of router.stack) {
    if (!route) continue
    const methods = methodsOf.get(route.path) ?? new Set()
    for (const { method } of route.stack) methods.add(method.toUpperCase())
    methodsOf.set(route.path, methods)
  }
  for (const [path, methods] of methodsOf) {
    router.all(path, (_req, res, next) => {
      for (const method of methods) served(res).add(method)
      next()
    })
  }
}

/** The methods that the path of this request is known to be served with. */
const served = (res: Response) => (res.locals.served ??= new Set()) as Set<string>

/** Where a request ends up that no route took. */
export const nothingHere: RequestHandler = (_req, res) => {
  const methods = served(res)
  if (methods.size === 0)
    throw new ApiError('NOT_FOUND', 'Nothing is served at this path; compare it with the API documentation')
  if (methods.has('GET')) methods.add('HEAD')
  res.setHeader('Allow', [...methods].join(', '))
  throw new ApiError('METHOD_NOT_ALLOWED', `This path takes ${[...methods].join(', ')} only`)
}
