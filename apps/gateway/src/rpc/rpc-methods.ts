import { type RpcRequest } from '@tollgate/protocol'

export const isObject = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Go matches member names in any letter case. */
export const isMethodKey = (name: string) => name.length === 6 && name.toLowerCase() === 'method'

const METHOD_NAME = /^[\x21-\x7e]{1,128}$/
export const methodNameOf = (method: unknown) =>
  typeof method === 'string' && METHOD_NAME.test(method) ? method : 'unknown'

export type Entry = Record<string, unknown>
export const entriesOf = ({ payload }: RpcRequest): Entry[] => [payload].flat()

/** One method for each entry of a batch; the path names the method of an entry without one. Empty for REST. */
export const rpcMethodsOf = (call: RpcRequest): string[] =>
  call.transport === 'rest'
    ? []
    : entriesOf(call).map(({ method = methodOfPath(call.resource) }) => methodNameOf(method))

function methodOfPath(resource: string): string | undefined {
  const [path = ''] = resource.split('?', 1)
  return fullyDecoded(path)
    .replace(/;[^/]*/g, '')
    .split('/')
    .findLast((part) => part !== '')
}

function fullyDecoded(path: string): string {
  const once = decodeURIComponent(path)
  return once === path ? path : fullyDecoded(once)
}

export function* methodMembers(entry: Entry): Generator<[name: string, method: unknown]> {
  for (const name of Object.keys(entry)) if (isMethodKey(name)) yield [name, entry[name]]
}

/** CometBFT takes the method from the path and ignores the body; some JSON-RPC servers take it from the query. */
export function* methodsInUrl({ resource, method }: RpcRequest): Generator<string> {
  const pathMethod = methodOfPath(resource)
  if (pathMethod !== undefined) yield methodNameOf(pathMethod)
  const query = resource.indexOf('?')
  if (method === 'GET' && query >= 0)
    for (const [name, value] of new URLSearchParams(resource.slice(query + 1)))
      if (name.toLowerCase() === 'method') yield methodNameOf(value)
}
