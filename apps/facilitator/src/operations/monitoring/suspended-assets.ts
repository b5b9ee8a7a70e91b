import { type Pool } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { columns, inOneLine, timeOf } from '../cli/format'

const POLL_INTERVAL_MS = 5_000

export type SuspendedAsset = {
  network: string
  asset: string
  symbol: string
  suspendedAt: Date
  suspension: string | null
}

const SUSPENDED = `
SELECT network, asset, symbol, suspended_at AS "suspendedAt", suspension FROM assets
WHERE suspended_at IS NOT NULL ORDER BY suspended_at, id`

export const readSuspended = async (pool: Pick<Pool, 'query'>): Promise<SuspendedAsset[]> =>
  (await pool.query<SuspendedAsset>(SUSPENDED)).rows

export const suspendedText = (assets: readonly SuspendedAsset[]): string =>
  assets.length === 0
    ? 'no asset is suspended\n'
    : columns([
        ['NETWORK', 'ASSET', 'SYMBOL', 'SUSPENDED', 'WHY'],
        ...assets.map(({ network, asset, symbol, suspendedAt, suspension }) => [
          inOneLine(network),
          inOneLine(asset),
          inOneLine(symbol),
          timeOf(suspendedAt),
          inOneLine(suspension ?? '-'),
        ]),
      ])

/** Reads the database, so that every replica exports the same values. */
export function startAssetMonitor(parts: {
  pool: Pick<Pool, 'query'>
  metrics: Metrics
  logger: Logger
  networks: readonly string[]
}) {
  const { pool, metrics, logger, networks } = parts
  const suspended = metrics.gauge({
    name: 'tollgate_assets_suspended',
    help: 'Suspended assets; each one needs an operator',
    labelNames: ['network'],
  })
  return startInterval({
    everyMs: POLL_INTERVAL_MS,
    async work() {
      const assets = await readSuspended(pool)
      suspended.reset()
      for (const network of new Set([...networks, ...assets.map((asset) => asset.network)]))
        suspended.set({ network }, assets.filter((asset) => asset.network === network).length)
    },
    onError: (error) => logger.warn('suspended asset query failed', { error }),
  })
}
