import { type Ecosystem, type RpcRequest } from '@tollgate/protocol'
import { type Extensions } from './extension'

type Json = Readonly<Record<string, unknown>>

const examples: Record<Ecosystem, { method: string; params: unknown }> = {
  evm: { method: 'eth_blockNumber', params: [] },
  cosmos: { method: 'status', params: {} },
}

const callSchema = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' }, method: { type: 'string' } },
  required: ['jsonrpc', 'method'],
}

/** What a plain JSON-RPC URL takes and returns, for catalogues: one call in the body of a POST. */
export function declareJsonRpc(ecosystem: Ecosystem): Extensions {
  const { method, params } = examples[ecosystem]
  return {
    bazaar: {
      info: {
        input: {
          type: 'http',
          method: 'POST',
          bodyType: 'json',
          body: { jsonrpc: '2.0', id: 1, method, params },
        },
        output: { type: 'json' },
      },
      schema: schemaOf({ body: callSchema }),
    },
  }
}

/**
 * The same in x402 version 1, for the catalog of the facilitator. Undefined for a call with a path, each of which would be an
 * entry.
 */
export function outputSchemaOf({ transport, method }: Pick<RpcRequest, 'transport' | 'method'>) {
  if (transport !== 'rpc' || method !== 'POST') return undefined
  const bodyFields = { method: { type: 'string', required: true }, params: { type: ['array', 'object'] } }
  return { input: { type: 'http', method, discoverable: true, bodyType: 'json', bodyFields } }
}

/**
 * What a REST URL takes and returns, for catalogues. `base`: the absolute URL below which every path is the same resource,
 * such as `https://gateway.example/v1/osmosis-1/rest`. `path`: what follows `base`, without its query.
 */
export function declareRest({ base, path, query = {} }: RestCall): Extensions {
  const pathParams = { path: path.replace(/^\/+/, '') }
  return {
    bazaar: {
      info: {
        input: { type: 'http', method: 'GET', queryParams: query, pathParams },
        output: { type: 'json' },
      },
      schema: schemaOf({ pathParams: { type: 'object', required: ['path'] } }),
      routeTemplate: routeTemplateOf(base),
    },
  }
}
type RestCall = { base: string; path: string; query?: Readonly<Record<string, string>> }

/** A colon would begin a parameter, so those of a CAIP-2 id are encoded. */
const routeTemplateOf = (base: string) => `${new URL(base).pathname.replaceAll(':', '%3A')}/:path`

/** Short, because clients return it in a header, with each payment. */
const schemaOf = (properties: Json) => ({
  type: 'object',
  properties: { input: { type: 'object', properties, required: Object.keys(properties) } },
  required: ['input'],
})
