import { type Pool } from '@tollgate/database'
import { type OperatorNetwork, type OperatorOverview, type OperatorSigner } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { isReversedFinalSql } from '../../settlement/status'
import { readSuspended } from '../monitoring/suspended-assets'
import { readOpenSettlements, type OpenSettlements } from '../settlements/open-settlements'
import { createCachedPart } from './cached-part'
import { type NetworkView } from './network-view'
import { type SignerView } from './signer-view'

const TTL_MS = 2_000
const DAY_TTL_MS = 60_000
const TIMEOUT_MS = 3_000

const REVERSED_FINAL = `SELECT count(*) FROM settlements s WHERE ${isReversedFinalSql('s')}`

/** Client by client, each from a part of the covering index of ended settlements. */
const LAST_DAY = `
SELECT ended.status, sum(ended.count)::bigint AS count
FROM clients c CROSS JOIN LATERAL (
  SELECT s.status, count(*) AS count FROM settlements s
  WHERE s.client_id = c.client_id AND s.ended_at > now() - INTERVAL '1 day'
  GROUP BY s.status
) AS ended GROUP BY ended.status`

type Outcome = 'settled' | 'failed' | 'reversed'

/** Small numbers for a first page. Each part has its own `error`. */
export function createOverview(parts: {
  pool: Pool
  readNetworks: NetworkView
  readSigners: SignerView
  logger: Logger
}) {
  const { pool, readNetworks, readSigners, logger } = parts
  const part = <T>(name: string, read: () => Promise<T>, ttlMs = TTL_MS) =>
    createCachedPart({ name, read, ttlMs, timeoutMs: TIMEOUT_MS, logger })

  const readSettlements = part('settlements', async () => {
    const [open, { rows }] = await Promise.all([
      readOpenSettlements(pool),
      pool.query<{ count: bigint }>({ name: 'reversed-final', text: REVERSED_FINAL }),
    ])
    return { ...summaryOf(open), reversedFinal: Number(rows[0]?.count ?? 0n) }
  })
  const readLastDay = part(
    'settlements of the last day',
    async () => {
      const { rows } = await pool.query<{ status: Outcome; count: bigint }>(LAST_DAY)
      const count = (outcome: Outcome) => Number(rows.find(({ status }) => status === outcome)?.count ?? 0n)
      return { settled: count('settled'), failed: count('failed'), reversed: count('reversed') }
    },
    DAY_TTL_MS,
  )
  const readAssets = part('suspended assets', async () => ({ suspended: (await readSuspended(pool)).length }))

  return async (): Promise<Omit<OperatorOverview, 'replica'>> => {
    const [settlements, lastDay, signers, assets, networks] = await Promise.all([
      readSettlements(),
      readLastDay(),
      readSigners(),
      readAssets(),
      readNetworks(),
    ])
    return {
      settlements: { ...NO_SETTLEMENTS, ...settlements.value, error: settlements.error },
      lastDay: { settled: null, failed: null, reversed: null, ...lastDay.value, error: lastDay.error },
      signers: signerNumbers(signers),
      assets: { suspended: null, ...assets.value, error: assets.error },
      nodes: nodeNumbers(networks),
    }
  }
}

const NO_SETTLEMENTS = { open: null, stuck: null, oldestAgeSeconds: null, reversedFinal: null }

function summaryOf(rows: readonly OpenSettlements[]) {
  const sum = (counts: bigint[]) => Number(counts.reduce((total, count) => total + count, 0n))
  return {
    open: sum(rows.map(({ count }) => count)),
    stuck: sum(rows.map(({ stuck }) => stuck)),
    oldestAgeSeconds:
      rows.length === 0
        ? null
        : Math.max(0, Math.floor(Math.max(...rows.map(({ oldestSeconds }) => oldestSeconds)))),
  }
}

function signerNumbers({ signers, error }: { signers: readonly OperatorSigner[]; error: string | null }) {
  const configured = signers.filter(({ isConfigured }) => isConfigured)
  return {
    total: configured.length,
    low: configured.filter(({ isLow }) => isLow).length,
    unknown: configured.filter(({ balance }) => balance === null).length,
    withoutLeader: error === null ? configured.filter(({ leader }) => leader === null).length : null,
    error,
  }
}

function nodeNumbers(networks: readonly OperatorNetwork[]): OperatorOverview['nodes'] {
  const nodes = networks.flatMap((network) => network.nodes)
  const errors = networks.flatMap(({ error }) => error ?? [])
  return {
    total: nodes.length,
    failing: nodes.filter(({ state }) => state === 'failing').length,
    behind: nodes.filter(({ state }) => state === 'behind').length,
    error: errors.length === 0 ? null : errors.join('; '),
  }
}
