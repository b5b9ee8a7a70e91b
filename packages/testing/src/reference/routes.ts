/** A layer of an Express router, of which there is no type. */
type Layer = {
  route?: { path: string; stack: { method?: string }[] }
  handle: unknown
  /** Where it is mounted. */
  rawPath: string | string[]
}
type Layers = { stack: unknown }

const isRouter = (handle: unknown): handle is Layers => typeof handle === 'function' && 'stack' in handle

/** What a router serves, and those mounted in it: `get /pricing/{id}` for each method and path, as OpenAPI writes it. */
export const routesOf = (router: unknown): string[] => [...new Set(served(router as Layers, ''))].sort()

/** Those for all methods only note what else a path is served with. */
const served = (router: Layers, prefix: string): string[] =>
  (router.stack as Layer[]).flatMap(({ route, handle, rawPath }) => {
    if (route)
      return route.stack.flatMap(({ method }) =>
        method ? [`${method} ${prefix}${route.path.replace(/:(\w+)/g, '{$1}')}`] : [],
      )
    return isRouter(handle) ? [rawPath].flat().flatMap((place) => served(handle, prefix + place)) : []
  })
