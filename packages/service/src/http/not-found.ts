import { type RequestHandler, type Response, type Router } from 'express'
import { ApiError } from '../errors'

/**
 * Makes the response 405 with `Allow`, not 404, if the router serves the path with other methods only. Call it on a mounted
 * router after its routes; createBaseApp does so for the app's own router.
 */
export function registerAllowedMethods(router: Router) {
  const methodsOf = new Map<string, Set<string>>()
  for (const { route } of router.stack) {
    if (!route) continue
    const methods = methodsOf.get(route.path) ?? new Set()
    for (const { method } of route.stack) methods.add(method.toUpperCase())
    methodsOf.set(route.path, methods)
  }
  for (const [path, methods] of methodsOf) {
    router.all(path, (_req, res, next) => {
      for (const method of methods) allowedMethods(res).add(method)
      next()
    })
  }
}

const allowedMethods = (res: Response) => (res.locals.allowedMethods ??= new Set()) as Set<string>

export const notFound: RequestHandler = (_req, res) => {
  const methods = allowedMethods(res)
  if (methods.size === 0)
    throw new ApiError('NOT_FOUND', 'Nothing is served at this path; see GET /openapi.json or GET /llms.txt')
  if (methods.has('GET')) methods.add('HEAD')
  res.setHeader('Allow', [...methods].join(', '))
  throw new ApiError('METHOD_NOT_ALLOWED', `This path takes ${[...methods].join(', ')} only`)
}
