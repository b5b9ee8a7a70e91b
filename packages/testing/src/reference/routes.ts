/** A layer of an Express router, which has no public type. */
type Layer = {
  route?: { path: string; stack: { method?: string }[] }
  handle: unknown
  rawPath: string | string[]
}
type Layers = { stack: unknown }

const isRouter = (handle: unknown): handle is Layers => typeof handle === 'function' && 'stack' in handle

/**
 * The routes of a router and of those mounted in it, `get /pricing/{id}` for each method and path, as in
 * OpenAPI.
 */
export const routesOf = (router: unknown): string[] =>
  [...new Set(served(router as Layers, ''))].filter((route) => !PAGES.test(route)).sort()

/** The console, and the files of the page at /docs. */
const PAGES = /^get (\/|\/console(\/.*)?|\/docs\/.*)$/

const served = (router: Layers, prefix: string): string[] =>
  (router.stack as Layer[]).flatMap(({ route, handle, rawPath }) => {
    if (route)
      return route.stack.flatMap(({ method }) =>
        method ? [`${method} ${prefix}${route.path.replace(/[:*](\w+)/g, '{$1}')}`] : [],
      )
    return isRouter(handle) ? [rawPath].flat().flatMap((place) => served(handle, prefix + place)) : []
  })
