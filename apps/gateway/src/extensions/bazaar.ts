import { type Ecosystem } from '@tollgate/protocol'
import { DIALECT, type Extensions } from './extension'

type Json = Readonly<Record<string, unknown>>

const examples: Record<Ecosystem, { method: string; params: unknown; result: unknown }> = {
  evm: { method: 'eth_blockNumber', params: [], result: '0x1b4' },
  cosmos: { method: 'status', params: {}, result: { sync_info: { latest_block_height: '436' } } },
}

const JSON_RPC_ID = { type: ['string', 'number', 'null'] }

const callSchema = {
  type: 'object',
  properties: {
    jsonrpc: { const: '2.0' },
    id: JSON_RPC_ID,
    method: { type: 'string', minLength: 1 },
    params: { type: ['array', 'object'] },
  },
  required: ['jsonrpc', 'method'],
}

const resultSchema = {
  type: 'object',
  properties: { jsonrpc: { const: '2.0' }, id: JSON_RPC_ID, result: {}, error: { type: 'object' } },
  required: ['jsonrpc', 'id'],
}

/** What a plain JSON-RPC URL takes and returns, for catalogues: one call in the body of a POST. */
export function declareJsonRpc(ecosystem: Ecosystem): Extensions {
  const { method, params, result } = examples[ecosystem]
  return {
    bazaar: {
      info: {
        input: {
          type: 'http',
          method: 'POST',
          bodyType: 'json',
          body: { jsonrpc: '2.0', id: 1, method, params },
        },
        output: { type: 'json', example: { jsonrpc: '2.0', id: 1, result } },
      },
      schema: schemaOf({ method: oneOf('POST'), bodyType: oneOf('json'), body: callSchema }, resultSchema),
    },
  }
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
        output: { type: 'json', example: {} },
      },
      schema: schemaOf(
        {
          method: oneOf('GET'),
          queryParams: { type: 'object', additionalProperties: { type: 'string' } },
          pathParams: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
        },
        { type: 'object' },
      ),
      routeTemplate: routeTemplateOf(base),
    },
  }
}
type RestCall = { base: string; path: string; query?: Readonly<Record<string, string>> }

/** A colon would begin a parameter, so those of a CAIP-2 id are encoded. */
const routeTemplateOf = (base: string) => `${new URL(base).pathname.replaceAll(':', '%3A')}/:path`

const oneOf = (word: string) => ({ type: 'string', enum: [word] })

const schemaOf = (input: Json, example: Json) => ({
  $schema: DIALECT,
  type: 'object',
  properties: {
    input: {
      type: 'object',
      properties: { type: { type: 'string', const: 'http' }, ...input },
      required: ['type', ...Object.keys(input)],
      additionalProperties: false,
    },
    output: { type: 'object', properties: { type: { type: 'string' }, example }, required: ['type'] },
  },
  required: ['input'],
})
