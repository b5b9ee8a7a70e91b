type Response = { $ref: string } | { content?: unknown }
type Operation = { responses: Record<string, Response> }

/** The parts of a service's OpenAPI document that its Markdown document must cover. */
export type Reference = {
  paths: Record<string, Record<string, Operation>>
  components: { responses: Record<string, Response> }
}

/** Each operation, with a predicate for requests such as `GET /pricing/1`. */
export const operationsOf = ({ paths }: Reference) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => {
      const name = `${method.toUpperCase()} ${path}`
      const pattern = new RegExp(`^${name.replaceAll('.', '\\.').replace(/\{[^}]+\}/g, '[^/]+')}$`)
      return { name, matches: (request: string) => pattern.test(request) }
    }),
  )

/** Each documented refusal, such as `404 NOT_FOUND`. */
export function refusalsOf({ paths, components }: Reference): Set<string> {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const refusals = operations.flatMap(({ responses }) =>
    Object.entries(responses).flatMap(([status, response]) => {
      const whole =
        '$ref' in response ? components.responses[response.$ref.split('/').at(-1) ?? ''] : response
      return [...JSON.stringify(whole).matchAll(/"enum":\["([A-Z_",]+)"\]/g)].flatMap(([, codes = '']) =>
        codes.split('","').map((code) => `${status} ${code}`),
      )
    }),
  )
  return new Set(refusals)
}
