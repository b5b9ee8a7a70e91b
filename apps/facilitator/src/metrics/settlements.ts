import { type SettlementMetrics } from '@tollgate/protocol'
import { type EndRow, type FeeRow } from './settlements-sql'

export function summarize(ends: readonly EndRow[], fees: readonly FeeRow[]): SettlementMetrics {
  const amounts = new Map<string, SettlementMetrics['amounts'][number]>()
  const networks = new Map<string, SettlementMetrics['networks'][number]>()
  const failures = new Map<string, number>()
  const total = { settled: 0, failed: 0, reversed: 0 }
  let duplicates = 0

  for (const { network, asset, symbol, decimals, end, reason, count, amount } of ends) {
    const times = Number(count)
    if (end === 'duplicate') {
      duplicates += times
      continue
    }
    total[end] += times
    if (network !== '') {
      const counts = networks.get(network) ?? { network, settled: 0, failed: 0, reversed: 0 }
      counts[end] += times
      networks.set(network, counts)
    }
    if (end === 'settled' && asset !== null)
      amounts.set(`${network} ${asset}`, {
        network,
        asset,
        symbol: symbol ?? '',
        decimals: decimals ?? 0,
        settled: times,
        amount,
      })
    if (end === 'failed' && reason !== null) failures.set(reason, (failures.get(reason) ?? 0) + times)
  }

  return {
    ...total,
    duplicates,
    amounts: [...amounts.values()],
    fees: fees.map(({ network, transactions, amount }) => ({
      network,
      transactions: Number(transactions),
      amount,
    })),
    networks: [...networks.values()],
    failures: [...failures]
      .map(([reason, failed]) => ({ reason, failed }))
      .sort((a, b) => b.failed - a.failed || (a.reason < b.reason ? -1 : 1)),
  }
}
