import { type Session } from '../session'

/** Other transactions may lock several assets too: always in the order of their ids. */
const LOCK_ASSETS = `
SELECT FROM assets WHERE (network, asset) IN (SELECT network, asset FROM settlements WHERE id = ANY($1))
ORDER BY id FOR UPDATE`

const SUSPEND_ASSETS = `
UPDATE assets a SET active = false, suspended_at = now(),
  suspension = 'transaction ' || s.transaction_hash || ' moved another amount than settlement ' || s.id || ' is for'
FROM settlements s
WHERE s.id = ANY($1) AND a.network = s.network AND a.asset = s.asset AND a.suspended_at IS NULL`

/** Suspends the assets of these mismatched settlements: the next payment would move another amount too. */
export async function suspendAssets(session: Session, settlementIds: readonly bigint[]): Promise<void> {
  await session.query(LOCK_ASSETS, [settlementIds])
  await session.query(SUSPEND_ASSETS, [settlementIds])
}
