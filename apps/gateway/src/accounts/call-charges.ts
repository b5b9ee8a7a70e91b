import { type GatewayDatabase } from '@tollgate/database'
import { type Ecosystem } from '@tollgate/protocol'
import { batchOptions, createBatchExecutor, listOf } from './batch-statement'
import { createContendedAccounts } from './contended-accounts'
import { createGroupCommit } from './group-commit'
import { accountBusy } from './ledger-errors'
import { type LedgerMetrics } from './ledger-metrics'
import { SPEND, type Authority, type SpendRow } from './ledger-sql'

export type Charge = {
  authority: Authority
  wallet: string
  planId: number
  cost: number
  providerId: string
  ecosystem: Ecosystem
  chainId: string
  transport: 'rpc' | 'rest'
  method: string
  resource: string
  rpcMethod: string | null
}

/** Far longer than a commit takes: two batches at once would wait for each other's accounts, and be half as large. */
const STALLED_AFTER_MS = 100

/** Charges for calls in batches. Calls of contended accounts go through a batch of their own, so that they delay only each other. */
export function createCallCharges(
  database: Pick<GatewayDatabase, 'pool'>,
  replicaId: string,
  metrics: LedgerMetrics,
) {
  const execute = createBatchExecutor(database)
  const flush = async (charges: Charge[]) => {
    const rows = await execute<SpendRow>('spend', SPEND, [replicaId, ...parametersOf(charges)])
    let spent = 0
    for (const [at, { outcome }] of rows.entries()) if (outcome === 'paid') spent += charges[at]?.cost ?? 0
    metrics.spent.inc(spent)
    return rows
  }
  const charges = createGroupCommit({
    ...batchOptions,
    flush,
    lanes: 2,
    stalledAfterMs: STALLED_AFTER_MS,
    maxWaiting: 8_192,
    onBatch: metrics.onBatch('spend'),
  })
  const contendedCharges = createGroupCommit({
    ...batchOptions,
    flush,
    lanes: 1,
    maxWaiting: 1_024,
    onBatch: metrics.onBatch('spend-contended'),
  })
  metrics.watch('spend', charges.waiting)
  metrics.watch('spend-contended', contendedCharges.waiting)
  const contended = createContendedAccounts()

  function submit(charge: Charge): Promise<SpendRow> {
    return contended.has(charge) ? submitContended(charge) : charges.submit(charge)
  }

  /** For an account that was found locked. @throws ApiError UNAVAILABLE if it stays locked */
  async function submitContended(charge: Charge): Promise<SpendRow> {
    contended.add(charge)
    const row = await contendedCharges.submit(charge)
    if (row.outcome === 'locked') throw accountBusy()
    contended.remove(charge)
    return row
  }

  return {
    submit,
    submitContended,
    async drain(): Promise<void> {
      await Promise.all([charges.drain(), contendedCharges.drain()])
    },
  }
}

type CallKind = Pick<Charge, (typeof kindMembers)[number]>
const kindMembers = [
  'providerId',
  'ecosystem',
  'chainId',
  'transport',
  'method',
  'resource',
  'rpcMethod',
] as const

/** The parameters of SPEND. Most calls of a batch are of the same few kinds, each of which is sent once. */
function parametersOf(charges: Charge[]): unknown[] {
  const numbers = new Map<string, number>()
  const kinds: CallKind[] = []
  const kindOf = charges.map((charge) => {
    const key = kindMembers.map((member) => charge[member]).join('\n')
    let number = numbers.get(key)
    if (number === undefined) {
      number = kinds.push(charge)
      numbers.set(key, number)
    }
    return number
  })
  return [
    listOf(charges.map(({ authority }) => authority.kind)),
    listOf(charges.map(({ authority }) => authority.id)),
    listOf(charges.map(({ planId }) => planId)),
    listOf(charges.map(({ cost }) => cost)),
    listOf(kindOf),
    ...kindMembers.map((member) => kinds.map((kind) => kind[member])),
  ]
}
