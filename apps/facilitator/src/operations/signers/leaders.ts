import { type Pool } from '@tollgate/database'
import { type NetworkName } from '@tollgate/protocol'
import { replicaOfSession, signerLockName } from '../../settlement/signer-lock'

export type LedSigner = { network: NetworkName; signer: string }

/** Postgres shows the two halves of an advisory lock's 64-bit key, as the settler takes it. */
const HOLDERS = `
SELECT wanted.name, coalesce(a.application_name, '') AS session
FROM unnest($1::text[]) AS wanted (name)
  JOIN pg_locks l ON ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended(wanted.name, 0)
  LEFT JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.granted
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const UNKNOWN = 'unknown'

/** The replica that leads each signer, in their order: `unknown` if it does not tell its name, null if none leads. */
export async function readLeaders(
  pool: Pick<Pool, 'query'>,
  signers: readonly LedSigner[],
): Promise<(string | null)[]> {
  const names = signers.map(({ network, signer }) => signerLockName(network, signer))
  const { rows } = await pool.query<{ name: string; session: string }>({
    name: 'signer-leaders',
    text: HOLDERS,
    values: [names],
  })
  const holders = new Map(rows.map(({ name, session }) => [name, replicaOfSession(session) ?? UNKNOWN]))
  return names.map((name) => holders.get(name) ?? null)
}
