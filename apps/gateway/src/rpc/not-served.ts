import { type Ecosystem } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Provider } from '../catalog/catalog'
import { type Bill } from './bill'
import { methodMembers, methodNameOf, type Entry } from './rpc-methods'

/** Methods that need a connection which the node can write to, so no node serves them over HTTP. */
export const methodsNeverServed: Record<Ecosystem, readonly string[]> = {
  evm: ['eth_subscribe', 'eth_unsubscribe'],
  cosmos: ['subscribe', 'unsubscribe', 'unsubscribe_all'],
}

/** Those of `methods` that a chain of the ecosystem, or the provider whose `notServed` it is, cannot serve over HTTP. */
export const notServedMethods = (
  ecosystem: Ecosystem,
  methods: readonly string[],
  notServed: readonly string[] = [],
): string[] =>
  methods.filter((method) => methodsNeverServed[ecosystem].includes(method) || notServed.includes(method))

export const notServedMessage = (method: string) =>
  `payload: ${method} is not served over HTTP on this chain; nothing was charged`

/** In JSON-RPC it has a code of its own. */
export class MethodNotServed extends ApiError {
  constructor(readonly methods: readonly [string, ...string[]]) {
    super('INVALID_REQUEST', notServedMessage(methods[0]))
  }
}

/** @throws MethodNotServed for a call of which an entry, or the path, names a method that is not served */
export function assertServed(
  { urlMethods, entries }: Bill,
  transport: 'rpc' | 'rest',
  { category, notServed }: Pick<Provider, 'category' | 'notServed'>,
): void {
  // The last segment of a REST path is no method.
  if (transport === 'rest') return
  const methods = [...urlMethods, ...entries.flatMap((entry) => entry.methods)]
  const [first, ...others] = notServedMethods(category, methods, notServed)
  if (first !== undefined) throw new MethodNotServed([first, ...others])
}

/** The first of the unserved methods that the entry of a batch names. */
export const unservedMethodOf = (entry: Entry, unserved: readonly string[]): string | undefined =>
  methodMembers(entry)
    .map(([, method]) => methodNameOf(method))
    .find((method) => unserved.includes(method))
