import { z } from 'zod'
import { Amount } from '../amount'
import { exampleAddress, exampleAsset } from './fields'

const FeePayerSigns = z
  .boolean()
  .optional()
  .describe(
    'True if it also signs payments that name it as `fee.payer`, in SIGN_MODE_LEGACY_AMINO_JSON: on Cosmos networks only.',
  )

const exampleKind = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  status: 'active',
  block: 1234,
  feePayer: exampleAddress,
}

export const NetworkKind = z
  .object({
    x402Version: z.int(),
    scheme: z.string().describe('The payment scheme: `exact`.'),
    network: z.string().describe('The network’s name.'),
    status: z
      .string()
      .describe(
        '`active`; in `GET /api/v1/status` also `unreachable`, where the network gives no answer, and `unusable`, where none of its nodes can judge a payment.',
      ),
    block: z.int().describe('The newest block’s number, at most a few seconds old; 0 if unknown.'),
    feePayer: z
      .string()
      .describe('The address that pays the network fees of settlements; empty if payers pay their own.'),
    problem: z
      .string()
      .optional()
      .describe('In `GET /api/v1/status` only: the missing features of its nodes, if any.'),
    feePayerSigns: FeePayerSigns,
    extra: z.object({ feePayer: z.string(), feePayerSigns: FeePayerSigns }).optional(),
  })
  .meta({
    id: 'NetworkKind',
    description: 'A network on which payments are accepted.',
    examples: [exampleKind],
  })
export type NetworkKind = z.infer<typeof NetworkKind>

export const SupportedKinds = z
  .object({ kinds: z.array(NetworkKind) })
  .meta({ examples: [{ kinds: [exampleKind] }] })
export type SupportedKinds = z.infer<typeof SupportedKinds>

export const NetworkPath = z.object({
  id: z
    .string()
    .min(1)
    .max(128)
    .meta({ description: 'The network’s name, chain id or CAIP-2 id.', examples: ['base-sepolia'] }),
})

const exampleRegistered = {
  id: 1,
  network: 'base-sepolia',
  asset: exampleAsset,
  symbol: 'USDC',
  decimals: 6,
  active: true,
}

export const Asset = z
  .object({
    id: z.int(),
    network: z.string().describe('The network’s name.'),
    asset: z.string().describe('Its address.'),
    symbol: z.string(),
    decimals: z.int(),
    active: z.boolean().describe('Whether new payments in it are accepted.'),
    assetTransferMethod: z
      .literal('permit2')
      .optional()
      .describe(
        '`permit2` if it takes no EIP-3009 authorizations: payment requirements in it need the same in `extra`. Left out of all other assets.',
      ),
    minAmount: Amount.optional().describe(
      'The least that a payment may be of, in the smallest unit. Left out, it is a thousandth of the whole unit: `1000` of an asset with 6 decimals.',
    ),
  })
  .meta({ id: 'Asset', description: 'An asset for payments.', examples: [exampleRegistered] })
export type Asset = z.infer<typeof Asset>

export const AssetList = z
  .object({ data: z.array(Asset) })
  .meta({ examples: [{ data: [exampleRegistered] }] })
export type AssetList = z.infer<typeof AssetList>

const MinAmount = z.string().regex(/^[1-9][0-9]{0,77}$/, 'must be decimal digits in a string, at least 1')

const printable = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .regex(/^[\x21-\x7e]+$/, 'expected printable ASCII without spaces')

export const AssetRegistration = z
  .object({
    network: z.string().min(1).max(128).describe('Its name, chain id or CAIP-2 id.'),
    asset: printable(256).describe('The address of its contract.'),
    symbol: printable(32),
    decimals: z.int().min(0).max(77).describe('As its contract says.'),
    active: z
      .boolean()
      .optional()
      .describe('Omitted: a new asset is active, and a registered one is unchanged.'),
    min_amount: MinAmount.optional().describe(
      'The least that a payment may be of, in the smallest unit. Left out, it is a thousandth of the whole unit for a new asset, and a registered one keeps its own.',
    ),
  })
  .meta({
    id: 'AssetRegistration',
    examples: [{ network: 'base-sepolia', asset: exampleAsset, symbol: 'USDC', decimals: 6, active: true }],
  })
export type AssetRegistration = z.infer<typeof AssetRegistration>
export const AssetRegistered = z.object({ data: Asset }).meta({ examples: [{ data: exampleRegistered }] })

export const SystemStatus = z
  .object({
    status: z
      .string()
      .describe(
        '`ok`, or `degraded` where the database or a network gives no answer, or a network is unusable.',
      ),
    version: z.string(),
    uptime: z.int().describe('Seconds since the start of the responding replica.'),
    networks: z.array(NetworkKind).describe('All configured networks, including unavailable ones.'),
    database: z.object({ status: z.string().describe('`ok` or `unreachable`.') }),
  })
  .meta({ id: 'SystemStatus' })
export type SystemStatus = z.infer<typeof SystemStatus>
export const StatusReport = z.object({ data: SystemStatus }).meta({
  examples: [
    {
      data: {
        status: 'ok',
        version: '0.1.0',
        uptime: 86_400,
        networks: [exampleKind],
        database: { status: 'ok' },
      },
    },
  ],
})

export const FacilitatorHealth = z
  .object({
    status: z.string(),
    timestamp: z.int().describe('The service’s clock, in Unix seconds.'),
    version: z.string(),
  })
  .meta({ id: 'Health', examples: [{ status: 'ok', timestamp: 1_768_478_400, version: '0.1.0' }] })
