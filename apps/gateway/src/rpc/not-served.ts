import { type Ecosystem } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Provider } from '../catalog/catalog'
import { type Bill } from './bill'

/** Methods that need a connection which the node can write to, so no node serves them over HTTP. */
export const methodsNeverServed: Record<Ecosystem, readonly string[]> = {
  evm: ['eth_subscribe', 'eth_unsubscribe'],
  cosmos: ['subscribe', 'unsubscribe', 'unsubscribe_all'],
}

/** The first of `methods` that a chain of the ecosystem, or the provider whose `notServed` it is, cannot serve over HTTP. */
export const notServedMethod = (
  ecosystem: Ecosystem,
  methods: readonly string[],
  notServed: readonly string[] = [],
): string | undefined =>
  methods.find((method) => methodsNeverServed[ecosystem].includes(method) || notServed.includes(method))

/** In JSON-RPC it has a code of its own. */
export class MethodNotServed extends ApiError {
  constructor(method: string) {
    super('INVALID_REQUEST', `payload: ${method} is not served over HTTP on this chain; nothing was charged`)
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
  const method = notServedMethod(category, methods, notServed)
  if (method !== undefined) throw new MethodNotServed(method)
}
