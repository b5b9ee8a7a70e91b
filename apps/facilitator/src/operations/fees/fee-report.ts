import { type Pool } from '@tollgate/database'
import { feeLimitsOf, type DefaultShares, type Spent } from '../../settlement/signing/fee-allowance'
import { type FeeShareStore } from '../../settlement/signing/fee-share-store'
import { readFeesOfDay } from '../../settlement/signing/signing-store'
import { type Network } from '../../networks/network'

/** Of the users and of the client keys with the highest fees. */
const MAX_LISTED = 10

type Limited = { spent: bigint; limit: bigint | null }

/** The fees of 24 hours on a network, in its smallest native unit. */
export type FeeReport = {
  spent: bigint
  newUsers: Limited
  users: (Limited & { userId: number; email: string })[]
  clients: (Limited & { clientId: string; title: string; userId: number })[]
}

const CLIENTS = `
SELECT c.client_id AS "clientId", c.title, c.user_id AS "userId", c.fee_share_bps AS "feeShareBps",
  c.max_fees_per_day AS "maxFeesPerDay"
FROM clients c WHERE c.client_id = ANY($1)`
const USERS = 'SELECT id, email, fee_share_bps AS "feeShareBps" FROM users WHERE id = ANY($1)'

type ClientRow = {
  clientId: string
  title: string
  userId: number
  feeShareBps: number | null
  maxFeesPerDay: string | null
}
type UserRow = { id: number; email: string; feeShareBps: number | null }

export function createFeeReport(parts: { pool: Pool; store: FeeShareStore; shares: DefaultShares }) {
  const { pool, store, shares } = parts

  async function clientsOf(spent: readonly Spent[], dailyLimit: bigint | undefined) {
    const highest = [...sumBy(spent, ({ clientId }) => clientId)].sort(byAmount).slice(0, MAX_LISTED)
    const ids = highest.map(([clientId]) => clientId)
    const { rows } = await pool.query<ClientRow>(CLIENTS, [ids])
    return highest.flatMap(([clientId, fees]) =>
      rows
        .filter((row) => row.clientId === clientId)
        .map(({ title, userId, feeShareBps, maxFeesPerDay: cap }) => {
          const maxFeesPerDay = cap === null ? null : BigInt(cap)
          const key = { feeShareBps, maxFeesPerDay, userFeeShareBps: null }
          const { clientKey: limit } = feeLimitsOf(key, dailyLimit, shares)
          return { clientId, title, userId, spent: fees, limit }
        }),
    )
  }

  async function usersOf(spent: readonly Spent[], dailyLimit: bigint | undefined) {
    const highest = [...sumBy(spent, ({ userId }) => userId)].sort(byAmount).slice(0, MAX_LISTED)
    const { rows } = await pool.query<UserRow>(USERS, [highest.map(([userId]) => userId)])
    return highest.flatMap(([userId, fees]) =>
      rows
        .filter(({ id }) => id === userId)
        .map(({ email, feeShareBps: userFeeShareBps }) => {
          const user = { feeShareBps: null, maxFeesPerDay: null, userFeeShareBps }
          return { userId, email, spent: fees, limit: feeLimitsOf(user, dailyLimit, shares).user }
        }),
    )
  }

  return async ({
    name,
    maxFeesPerDay: dailyLimit,
  }: Pick<Network, 'name' | 'maxFeesPerDay'>): Promise<FeeReport> => {
    const [total, spent] = await Promise.all([readFeesOfDay(pool, name), store.spent(name)])
    const [users, clients] = await Promise.all([usersOf(spent, dailyLimit), clientsOf(spent, dailyLimit)])
    const unknown = { feeShareBps: null, maxFeesPerDay: null, userFeeShareBps: null }
    const ofNew = spent.filter(({ isNew }) => isNew).reduce((sum, { fees }) => sum + fees, 0n)
    const newUsers = { spent: ofNew, limit: feeLimitsOf(unknown, dailyLimit, shares).newUsers }
    return { spent: total, newUsers, users, clients }
  }
}

function sumBy<Key>(spent: readonly Spent[], keyOf: (row: Spent) => Key): Map<Key, bigint> {
  const sums = new Map<Key, bigint>()
  for (const row of spent) sums.set(keyOf(row), (sums.get(keyOf(row)) ?? 0n) + row.fees)
  return sums
}

const byAmount = ([, one]: readonly [unknown, bigint], [, other]: readonly [unknown, bigint]): number =>
  one === other ? 0 : one > other ? -1 : 1
