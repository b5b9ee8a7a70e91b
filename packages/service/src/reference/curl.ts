import {
  type DescribedOperation,
  type JsonSchema,
  type OpenApiDocument,
  type ParameterObject,
} from './document'

/** A request of the operation as a command line, of its parameters' and its body's first examples. Tokens are variables. */
export function curlOf(
  { servers, components }: Pick<OpenApiDocument, 'servers' | 'components'>,
  { method, path, operation }: DescribedOperation,
): string {
  const { parameters = [], requestBody, security = [] } = operation
  const base = servers[0]?.url ?? ''
  const within = (place: string) => parameters.filter((parameter) => parameter.in === place)
  const filled = within('path').reduce(
    (url, parameter) => url.replace(`{${parameter.name}}`, encodeURIComponent(exampleOf(parameter))),
    path,
  )
  const query = within('query')
    .filter(({ required, example }) => required || example !== undefined)
    .map((parameter) => `${parameter.name}=${encodeURIComponent(exampleOf(parameter))}`)
    .join('&')
  const schemes = Object.keys(security[0] ?? {})
  const body = Object.values(requestBody?.content['application/json']?.examples ?? {})[0]
  return [
    `curl${method === 'get' ? '' : ` -X ${method.toUpperCase()}`} ${quoted(base + filled + (query === '' ? '' : `?${query}`))}`,
    ...schemes.map((name) => {
      const scheme = components.securitySchemes[name]
      return scheme?.type === 'apiKey'
        ? `-H "${scheme.name}: $${variableOf(scheme.name)}"`
        : `-H "Authorization: Bearer $${name === 'bearer' ? 'TOKEN' : variableOf(`${name}_token`)}"`
    }),
    ...within('header')
      .filter(({ required }) => required)
      .map((parameter) => `-H ${quoted(`${parameter.name}: ${exampleOf(parameter)}`)}`),
    ...(body === undefined
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(body.value, null, 2))}`]),
  ].join(' \\\n  ')
}

const quoted = (text: string) => `'${text.replaceAll("'", String.raw`'\''`)}'`

const variableOf = (header: string) => header.toUpperCase().replace(/[^A-Z0-9]/g, '_')

/** A value of the parameter, as text. */
function exampleOf({ example, schema }: ParameterObject): string {
  const value = example ?? firstOf(schema)
  return typeof value === 'string' ? value : JSON.stringify(value ?? '')
}

const firstOf = ({ examples, default: usual, enum: values }: JsonSchema): unknown =>
  examples?.[0] ?? usual ?? values?.[0]
