import { z } from 'zod'
import { exampleAddress, exampleTime } from './fields'

/** Sums may have more digits than an `Amount`. */
const NativeTotal = z.string().regex(/^(0|[1-9][0-9]*)$/)
const count = z.int().min(0)

const error = z
  .string()
  .nullable()
  .describe('Why this part could not be read, with its other members null; null if it was read.')
const replica = z
  .string()
  .describe(
    'The replica that answered: its host and a random part. It alone knows the state of its connections to the nodes.',
  )
const native = {
  nativeSymbol: z
    .string()
    .nullable()
    .describe('Of the currency of the network’s fees; null if the configuration does not tell it.'),
  nativeDecimals: z
    .int()
    .describe('From the smallest native unit to that of the symbol: 18 on EVM networks.'),
}
const exampleReplica = 'facilitator-6d8f9c7b5d-x2x4z-3fa9c1'

export const exampleOverview = {
  replica: exampleReplica,
  settlements: { open: 3, stuck: 1, oldestAgeSeconds: 192, reversedFinal: 0, error: null },
  lastDay: { settled: 5120, failed: 14, reversed: 0, error: null },
  signers: { total: 2, low: 0, unknown: 0, withoutLeader: 0, error: null },
  assets: { suspended: 0, error: null },
  nodes: { total: 3, failing: 1, behind: 0, error: null },
}
export const OperatorOverview = z
  .object({
    replica,
    settlements: z
      .object({
        open: count.nullable(),
        stuck: count.nullable().describe('Open more than two minutes after their claim.'),
        oldestAgeSeconds: count.nullable().describe('Of the oldest open one; null if none is open.'),
        reversedFinal: count
          .nullable()
          .describe('Success was reported, then a reorg dropped them, and they cannot be settled any more.'),
        error,
      })
      .describe('At most a few seconds old.'),
    lastDay: z
      .object({
        settled: count.nullable(),
        failed: count.nullable(),
        reversed: count.nullable(),
        error,
      })
      .describe(
        'Settlements that ended in the last 24 hours, at most a minute old. Refusals before a claim are not counted.',
      ),
    signers: z.object({
      total: count.nullable(),
      low: count.nullable().describe('Below their balance threshold.'),
      unknown: count.nullable().describe('Whose balance no node told.'),
      withoutLeader: count.nullable(),
      error,
    }),
    assets: z.object({ suspended: count.nullable(), error }),
    nodes: z.object({
      total: count.nullable(),
      failing: count.nullable(),
      behind: count.nullable(),
      error,
    }),
  })
  .meta({ id: 'OperatorOverview', examples: [exampleOverview] })
export type OperatorOverview = z.infer<typeof OperatorOverview>
export const OperatorOverviewReport = z
  .object({ data: OperatorOverview })
  .meta({ examples: [{ data: exampleOverview }] })

const exampleNode = {
  position: 2,
  name: 'rpc.example',
  state: 'failing',
  height: null,
  lag: null,
  lastError: 'responded with HTTP status 503',
  lastErrorAt: exampleTime,
  since: '2026-01-15T11:58:20.000Z',
} as const
const exampleNetwork = {
  network: 'base-sepolia',
  ecosystem: 'evm',
  chainId: '84532',
  status: 'active',
  block: 1234,
  problem: null,
  nodes: [
    {
      position: 1,
      name: 'node-0.internal:8545',
      state: 'ok',
      height: 1234,
      lag: 0,
      lastError: null,
      lastErrorAt: null,
      since: null,
    } as const,
    exampleNode,
  ],
  error: null,
} as const

export const OperatorNode = z
  .object({
    position: z.int().min(1).describe('In `rpc_urls` of the networks file.'),
    name: z.string().describe('The host of its URL: path, query and credentials may hold a key.'),
    state: z
      .enum(['ok', 'behind', 'failing'])
      .describe(
        '`behind`: more than 20 blocks below the highest node. `failing`: no height within a second.',
      ),
    height: z.int().nullable(),
    lag: z.int().min(0).nullable().describe('Blocks below the highest node of the network.'),
    lastError: z.string().nullable().describe('Of any request of this replica, also of one that passed.'),
    lastErrorAt: z.iso.datetime().nullable(),
    since: z.iso
      .datetime()
      .nullable()
      .describe('Since when none of this replica’s requests to it succeeded; null if the latest one did.'),
  })
  .meta({ id: 'OperatorNode', examples: [exampleNode] })
export type OperatorNode = z.infer<typeof OperatorNode>

export const OperatorNetwork = z
  .object({
    network: z.string().describe('Its name.'),
    ecosystem: z.string(),
    chainId: z.string(),
    status: z.enum(['active', 'unreachable', 'unusable']).nullable().describe('As in `GET /api/v1/status`.'),
    block: z.int().nullable().describe('The height of its highest node.'),
    problem: z.string().nullable().describe('The missing features of its nodes, if any.'),
    nodes: z.array(OperatorNode),
    error,
  })
  .meta({ id: 'OperatorNetwork', examples: [exampleNetwork] })
export type OperatorNetwork = z.infer<typeof OperatorNetwork>
export const OperatorNetworks = z
  .object({ data: z.object({ replica, networks: z.array(OperatorNetwork) }) })
  .meta({ examples: [{ data: { replica: exampleReplica, networks: [exampleNetwork] } }] })

const exampleSigner = {
  network: 'base-sepolia',
  address: exampleAddress,
  isConfigured: true,
  balance: '9000000000000000',
  threshold: '10000000000000000',
  isLow: true,
  pendingTransactions: 2,
  leader: exampleReplica,
  nativeSymbol: null,
  nativeDecimals: 18,
  error: null,
}
export const OperatorSigner = z
  .object({
    network: z.string(),
    address: z.string(),
    isConfigured: z
      .boolean()
      .describe(
        'False if the answering replica has no key of it any more: its pending transactions are tracked, and their fees cannot be raised.',
      ),
    balance: NativeTotal.nullable().describe('In the smallest native unit; null if unknown.'),
    threshold: NativeTotal.nullable().describe('Below it the log warns.'),
    isLow: z.boolean().nullable(),
    pendingTransactions: count.nullable().describe('Signed with a nonce of it, and not known to be mined.'),
    leader: z
      .string()
      .nullable()
      .describe(
        'The replica that holds its lock; `unknown` if that one does not tell its name; null if none does or the database did not tell.',
      ),
    nativeSymbol: native.nativeSymbol,
    nativeDecimals: native.nativeDecimals.nullable(),
    error: z
      .string()
      .nullable()
      .describe(
        'Why its balance could not be read, or why the service that holds its key cannot sign; otherwise null.',
      ),
  })
  .meta({ id: 'OperatorSigner', examples: [exampleSigner] })
export type OperatorSigner = z.infer<typeof OperatorSigner>
export const OperatorSigners = z
  .object({
    data: z.object({
      replica,
      signers: z.array(OperatorSigner),
      error: z
        .string()
        .nullable()
        .describe('Why leaders and pending transactions could not be read; null if they were.'),
    }),
  })
  .meta({ examples: [{ data: { replica: exampleReplica, signers: [exampleSigner], error: null } }] })

const limit = NativeTotal.nullable().describe(
  'What its payments may cost in 24 hours on this network; null if nothing limits it.',
)
const exampleFees = {
  network: 'base-sepolia',
  ...{ spent: '3280000000000', cap: '50000000000000000' },
  nativeSymbol: null,
  nativeDecimals: 18,
  newUsers: { spent: '280000000000', limit: '5000000000000000' },
  users: [{ userId: 2, email: 'shop@example.com', spent: '3000000000000', limit: '50000000000000000' }],
  clients: [
    {
      clientId: 'client_5f0c9a4e1b7d2f3a6c8e9b01',
      title: 'Weather shop',
      userId: 2,
      spent: '3000000000000',
      limit: '25000000000000000',
    },
  ],
  error: null,
}
export const OperatorFees = z
  .object({
    network: z.string(),
    spent: NativeTotal.nullable().describe(
      'The fees of the last 24 hours in the smallest native unit; of pending transactions the maximum fee.',
    ),
    cap: NativeTotal.nullable().describe('`max_fees_per_day` of the network; null if it has none.'),
    ...native,
    newUsers: z
      .object({ spent: NativeTotal, limit })
      .nullable()
      .describe('All users together whose share no operator has set.'),
    users: z
      .array(z.object({ userId: z.int(), email: z.string(), spent: NativeTotal, limit }))
      .max(10)
      .describe(
        'The ten with the highest fees, the highest first. Fees are counted for users and keys only if the network has a cap or the key one of its own.',
      ),
    clients: z
      .array(
        z.object({
          clientId: z.string(),
          title: z.string(),
          userId: z.int(),
          spent: NativeTotal,
          limit,
        }),
      )
      .max(10)
      .describe('The ten client keys with the highest fees, the highest first.'),
    error,
  })
  .meta({ id: 'OperatorFees', examples: [exampleFees] })
export type OperatorFees = z.infer<typeof OperatorFees>
export const OperatorFeesReport = z
  .object({ data: z.object({ networks: z.array(OperatorFees) }) })
  .meta({ examples: [{ data: { networks: [exampleFees] } }] })
