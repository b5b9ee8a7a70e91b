import { type Pool } from '@tollgate/database'
import { repeat, type Logger, type Metrics } from '@tollgate/service'
import { columns, inOneLine, timeOf } from './words'

const EVERY_MS = 5_000

/** An asset that the facilitator took out of use by itself, and why. */
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

/** Oldest first. */
export const readSuspended = async (pool: Pick<Pool, 'query'>): Promise<SuspendedAsset[]> =>
  (await pool.query<SuspendedAsset>(SUSPENDED)).rows

/** A line for each. */
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

/** Counts suspended assets in the metrics, as the database has them, so that every replica says the same. */
export function startAssetWatch(parts: {
  pool: Pick<Pool, 'query'>
  metrics: Metrics
  logger: Logger
  networks: readonly string[]
}) {
  const { pool, metrics, logger, networks } = parts
  const suspended = metrics.gauge({
    name: 'tollgate_assets_suspended',
    help: 'Assets that the facilitator took out of use by itself; anything above zero wants to be looked at',
    labelNames: ['network'],
  })
  return repeat({
    everyMs: EVERY_MS,
    async work() {
      const assets = await readSuspended(pool)
      suspended.reset()
      for (const network of new Set([...networks, ...assets.map((asset) => asset.network)]))
        suspended.set({ network }, assets.filter((asset) => asset.network === network).length)
    },
    onError: (error) => logger.warn('suspended assets could not be counted', { error }),
  })
}
