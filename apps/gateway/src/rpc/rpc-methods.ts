import { type RpcRequest } from '@tollgate/protocol'

export const isObject = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Go matches member names in any letter case. */
export const isMethodKey = (name: string) => name.length === 6 && name.toLowerCase() === 'method'

const METHOD_NAME = /^[\x21-\x7e]{1,128}$/
export const methodNameOf = (method: unknown) =>
  typeof method === 'string' && METHOD_NAME.test(method) ? method : 'unknown'

export type Entry = Record<string, unknown>
export const entriesOf = ({ payload }: RpcRequest): Entry[] => (Array.isArray(payload) ? payload : [payload])

/** Of a batch, the method of its first entry; the path names the method of an entry without one. Null for REST. */
export function rpcMethodOf(call: RpcRequest): string | null {
  const [entry] = entriesOf(call)
  if (call.transport === 'rest' || !entry) return null
  return methodNameOf(entry.method === undefined ? methodOfPath(call.resource) : entry.method)
}

function methodOfPath(resource: string): string | undefined {
  if (resource === '') return undefined
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

export const methodMembers = (entry: Entry): [name: string, method: unknown][] =>
  Object.entries(entry).filter(([name]) => isMethodKey(name))

/** CometBFT takes the method from the path and ignores the body; some JSON-RPC servers take it from the query. */
export function methodsInUrl({ resource, method }: RpcRequest): readonly string[] {
  if (resource === '') return NO_METHODS
  const methods: string[] = []
  const pathMethod = methodOfPath(resource)
  if (pathMethod !== undefined) methods.push(methodNameOf(pathMethod))
  const query = resource.indexOf('?')
  if (method === 'GET' && query >= 0)
    for (const [name, value] of new URLSearchParams(resource.slice(query + 1)))
      if (name.toLowerCase() === 'method') methods.push(methodNameOf(value))
  return methods
}

const NO_METHODS: readonly string[] = []
