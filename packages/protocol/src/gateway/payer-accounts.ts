import { z } from 'zod'

export const ChainPath = z.object({
  chain: z.string().meta({
    description: 'A Cosmos chain: its chain id, CAIP-2 id or network name.',
    examples: ['cosmoshub-4'],
  }),
})

const envelope = {
  jsonrpc: z.literal('2.0'),
  id: z.union([z.int(), z.string().max(64)]),
}

const BECH32 = /^[a-z0-9]{1,83}1[02-9ac-hj-np-z]{6,90}$/

/** A protobuf message whose only field, the first, is an address. */
function isAddressQuery(hex: string): boolean {
  const [tag, length, ...address] = Buffer.from(hex, 'hex')
  return tag === 10 && length === address.length && BECH32.test(String.fromCharCode(...address))
}

const query = (path: string, data: z.ZodType<string>) =>
  z.object({
    path: z.literal(path),
    data,
    height: z.literal('0').optional(),
    prove: z.literal(false).optional(),
  })

const accountData = z
  .string()
  .regex(/^([0-9a-fA-F]{2}){3,130}$/, 'must be a QueryAccountRequest in hex')
  .refine(isAddressQuery, 'must be a QueryAccountRequest in hex')
  .meta({ description: 'A `QueryAccountRequest` in hex.' })

/** The only requests to a CometBFT node that a payer needs. */
export const PayerAccountRequest = z
  .union(
    [
      z
        .object({ ...envelope, method: z.literal('status'), params: z.object({}).optional() })
        .meta({ id: 'StatusRequest' }),
      z
        .object({
          ...envelope,
          method: z.literal('abci_query'),
          params: query('/cosmos.auth.v1beta1.Query/Account', accountData),
        })
        .meta({ id: 'AccountQuery' }),
      z
        .object({
          ...envelope,
          method: z.literal('abci_query'),
          params: query('/cosmos.base.node.v1beta1.Service/Config', z.literal('')),
        })
        .meta({ id: 'GasPriceQuery' }),
    ],
    'must be `status`, or an `abci_query` of an account (/cosmos.auth.v1beta1.Query/Account) or of the prices of gas (/cosmos.base.node.v1beta1.Service/Config)',
  )
  .meta({
    id: 'PayerAccountRequest',
    description: 'A JSON-RPC request of a CometBFT client.',
    examples: [
      {
        jsonrpc: '2.0',
        id: 1,
        method: 'abci_query',
        params: {
          path: '/cosmos.auth.v1beta1.Query/Account',
          data: `0a2d${Buffer.from('cosmos1pkptre7fdkl6gfrzlesjjvhxhlc3r4gmmk8rs6').toString('hex')}`,
          height: '0',
          prove: false,
        },
      },
      { jsonrpc: '2.0', id: 1, method: 'status', params: {} },
    ],
  })
export type PayerAccountRequest = z.infer<typeof PayerAccountRequest>

const text = (max: number) => z.string().max(max)

const QueryResult = z
  .object({
    response: z.object({
      code: z.int().default(0),
      codespace: text(128).default(''),
      log: text(1_024).catch('').default(''),
      value: text(65_536).nullish().describe('The answer of the chain, in base64.'),
      height: text(20).default('0'),
    }),
  })
  .meta({ id: 'QueryResult' })
const StatusResult = z
  .object({
    node_info: z.object({ network: text(128) }),
    sync_info: z.object({ latest_block_height: text(20), catching_up: z.boolean() }),
  })
  .meta({ id: 'StatusResult' })

const result = { result: z.union([QueryResult, StatusResult]) }
const error = { error: z.object({ code: z.int(), message: text(256) }) }

/** What a node answers, without its other members. */
export const PayerNodeAnswer = z.union([z.object(result), z.object(error)])
export type PayerNodeAnswer = z.infer<typeof PayerNodeAnswer>

export const PayerAccountAnswer = z
  .union([
    z.object({ ...envelope, ...result }).meta({ id: 'PayerAccountResult' }),
    z.object({ ...envelope, ...error }).meta({ id: 'PayerAccountError' }),
  ])
  .meta({
    id: 'PayerAccountAnswer',
    description: 'The answer of a node, without the members that a payer does not need.',
    examples: [
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          node_info: { network: 'cosmoshub-4' },
          sync_info: { latest_block_height: '26000000', catching_up: false },
        },
      },
    ],
  })
export type PayerAccountAnswer = z.infer<typeof PayerAccountAnswer>
