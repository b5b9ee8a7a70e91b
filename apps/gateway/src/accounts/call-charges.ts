import { type GatewayDatabase } from '@tollgate/database'
import { type Ecosystem } from '@tollgate/protocol'
import { batchOptions, createBatchExecutor } from './batch-statement'
import { createContendedAccounts } from './contended-accounts'
import { createGroupCommit } from './group-commit'
import { accountBusy } from './ledger-errors'
import { SPEND, type SpendRow } from './ledger-sql'

export type Charge = {
  sessionId: string
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

/** Charges for calls in batches. Calls of contended accounts go through a batch of their own, so that they delay only each other. */
export function createCallCharges(database: Pick<GatewayDatabase, 'pool'>, replicaId: string) {
  const execute = createBatchExecutor(database)
  const flush = (charges: Charge[]) => execute<SpendRow>('spend', SPEND, [replicaId, ...columnsOf(charges)])
  const charges = createGroupCommit({ ...batchOptions, flush, lanes: 2, maxWaiting: 8_192 })
  const contendedCharges = createGroupCommit({ ...batchOptions, flush, lanes: 1, maxWaiting: 1_024 })
  const contended = createContendedAccounts()

  /** @throws ApiError UNAVAILABLE if the account stays locked */
  async function submit(charge: Charge): Promise<SpendRow> {
    const isContended = contended.has(charge)
    const row = await (isContended ? contendedCharges : charges).submit(charge)
    if (row.outcome !== 'locked') {
      if (isContended) contended.remove(charge)
      return row
    }
    contended.add(charge)
    if (isContended) throw accountBusy()
    return submit(charge)
  }

  return {
    submit,
    async drain(): Promise<void> {
      await Promise.all([charges.drain(), contendedCharges.drain()])
    },
  }
}

const columnsOf = (charges: Charge[]) => [
  charges.map((charge) => charge.sessionId),
  charges.map((charge) => charge.wallet),
  charges.map((charge) => charge.planId),
  charges.map((charge) => charge.cost),
  charges.map((charge) => charge.providerId),
  charges.map((charge) => charge.ecosystem),
  charges.map((charge) => charge.chainId),
  charges.map((charge) => charge.transport),
  charges.map((charge) => charge.method),
  charges.map((charge) => charge.resource),
  charges.map((charge) => charge.rpcMethod),
]
