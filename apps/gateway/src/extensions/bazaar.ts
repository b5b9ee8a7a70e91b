import { caip2, type Ecosystem, type RpcRequest } from '@tollgate/protocol'
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

/** How catalogs describe a paid URL to clients of version 1, which know no route templates, and of version 2. */
export type Listing = { outputSchema: Record<string, unknown> | undefined; extensions: Extensions }

type ListedCall = Pick<RpcRequest, 'ecosystem' | 'transport' | 'method' | 'resource'> & { chainId: string }

/**
 * The JSON-RPC URL of a chain, or the paths below the URL of a Cosmos chain as one entry. It is public, so its example is ours and
 * not what a payer asked. Undefined for the paths of other chains.
 */
export function listingOf(call: ListedCall, publicUrl: string): Listing | undefined {
  const { ecosystem, transport, method, resource } = call
  if (transport === 'rpc' && method === 'POST')
    return resource === ''
      ? { outputSchema: JSON_RPC_OUTPUT_SCHEMA, extensions: declareJsonRpc(ecosystem) }
      : undefined
  if (ecosystem !== 'cosmos' || method !== 'GET') return undefined
  const path = transport === 'rest' ? 'cosmos/base/tendermint/v1beta1/blocks/latest' : 'status'
  return { outputSchema: undefined, extensions: declareRest({ base: baseOf(call, publicUrl), path }) }
}

export const baseOf = (
  { ecosystem, chainId, transport }: Pick<ListedCall, 'ecosystem' | 'chainId' | 'transport'>,
  publicUrl: string,
) => `${publicUrl}/v1/${caip2({ ecosystem, chainId })}${transport === 'rest' ? '/rest' : ''}`

const JSON_RPC_OUTPUT_SCHEMA = {
  input: {
    type: 'http',
    method: 'POST',
    discoverable: true,
    bodyType: 'json',
    bodyFields: { method: { type: 'string', required: true }, params: { type: ['array', 'object'] } },
  },
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
