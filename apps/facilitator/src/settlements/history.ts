import { type SettlementDetails, type SettlementEvent, type SettlementTransaction } from '@tollgate/protocol'
import { endOf, type SettlementRow } from './settlement'

/** One version of a transaction that the settlement is or was in. `share`: what the settlement bears of its fee. */
export type VersionRow = {
  transactionId: bigint
  hash: string
  createdAt: Date
  isNewest: boolean
  status: 'signed' | 'mined' | 'final' | 'superseded'
  signer: string
  /** Null if the payer signed the transaction. */
  nonce: bigint | null
  acceptedAt: Date | null
  blockNumber: bigint | null
  share: string | null
}

export const transactionsOf = (
  row: SettlementRow,
  versions: readonly VersionRow[],
): SettlementTransaction[] => [...versions.map(toTransaction), ...externalTransaction(row, versions)]

/** Only of events whose time is stored. */
export function timelineOf(
  row: SettlementRow,
  versions: readonly VersionRow[],
): SettlementDetails['timeline'] {
  const end = endOf(row)
  const events: [SettlementEvent, Date | null][] = [
    ['claimed', row.claimedAt],
    ['claimed', row.reclaimedAt],
    ...versions.flatMap((version, index) => eventsOf(version, versions[index - 1])),
    ['settled', row.settledAt],
    ['reported', row.successReportedAt],
    ['failed', row.status === 'failed' ? end : null],
    ['reversed', row.status === 'reversed' ? end : null],
  ]
  return events
    .flatMap(([event, at]) => (at === null ? [] : [{ event, at }]))
    .sort((one, other) => one.at.getTime() - other.at.getTime())
    .map(({ event, at }) => ({ at: at.toISOString(), event }))
}

function eventsOf(version: VersionRow, before: VersionRow | undefined): [SettlementEvent, Date | null][] {
  const isFirst = version.transactionId !== before?.transactionId
  return [
    [isFirst ? 'signed' : 'replaced', version.createdAt],
    ['accepted', version.isNewest ? version.acceptedAt : null],
  ]
}

const stateOf = { signed: 'pending', mined: 'mined', final: 'final', superseded: 'superseded' } as const

const toTransaction = (version: VersionRow): SettlementTransaction => {
  const { isNewest, nonce } = version
  return {
    hash: version.hash,
    state: isNewest ? stateOf[version.status] : 'replaced',
    signer: nonce === null ? null : version.signer,
    nonce: nonce?.toString() ?? null,
    signedAt: version.createdAt.toISOString(),
    acceptedAt: isNewest ? (version.acceptedAt?.toISOString() ?? null) : null,
    block: isNewest && version.blockNumber !== null ? Number(version.blockNumber) : null,
    fee: isNewest ? version.share : null,
  }
}

/** The payment’s transaction if neither we nor the payer through us sent it. */
function externalTransaction(
  { transactionHash: hash, blockNumber }: SettlementRow,
  versions: readonly VersionRow[],
): SettlementTransaction[] {
  if (hash === null || versions.some((version) => version.hash === hash)) return []
  const nothing = { signer: null, nonce: null, signedAt: null, acceptedAt: null, fee: null }
  const block = blockNumber === null ? null : Number(blockNumber)
  return [{ hash, state: block === null ? 'pending' : 'mined', ...nothing, block }]
}
