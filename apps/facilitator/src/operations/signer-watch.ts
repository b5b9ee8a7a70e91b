import { type Pool } from '@tollgate/database'
import { repeat, type Logger, type Metrics } from '@tollgate/service'
import { type WatchedSigner } from './watched-signer'

const EVERY_MS = 30_000
const TELL_EVERY_MS = 600_000

/**
 * What the dearest of a signer's latest transactions took of its funds for each payment. A node wants to see several times
 * that before it takes a transaction: the highest price that is offered, for all the gas that is allowed.
 */
const WANTED_TIMES = 4n
const COST = `
SELECT coalesce(max(ceil(fee / greatest(1, (SELECT count(*) FROM settlements WHERE transaction_id = latest.id)))), 0)::text AS cost
FROM (
  SELECT id, fee FROM transactions WHERE network = $1 AND signer = $2 AND nonce IS NOT NULL ORDER BY nonce DESC LIMIT 20
) AS latest WHERE fee IS NOT NULL`

type Level = 'enough' | 'low' | 'empty'

/**
 * Looks at what each signer holds for fees, and tells metrics, and the log where that is little: when it comes to that, and
 * every ten minutes; and when it has enough again. A signer is empty where it cannot pay for one more settlement.
 */
export function startSignerWatch(parts: {
  signers: readonly WatchedSigner[]
  pool: Pool
  metrics: Metrics
  logger: Logger
  now: () => Date
  everyMs?: number
}) {
  const { signers, pool, metrics, logger, now, everyMs = EVERY_MS } = parts
  const labelNames = ['network', 'signer'] as const
  const balance = metrics.gauge({
    name: 'tollgate_signer_balance',
    help: 'What a signer holds for fees, in the smallest unit of the native currency, rounded as a float is',
    labelNames,
  })
  const warning = metrics.gauge({
    name: 'tollgate_signer_balance_warning',
    help: 'The balance below which the log warns, as the networks file has it',
    labelNames,
  })
  metrics.gauge({
    name: 'tollgate_settler_owner',
    help: '1 where this process is the one that sends for the signer, 0 where it is ready to take over',
    labelNames,
    collect() {
      for (const { network, signer, isOwner } of signers)
        this.set({ network: network.name, signer }, isOwner() ? 1 : 0)
    },
  })
  for (const { network, signer } of signers)
    warning.set({ network: network.name, signer }, Number(network.signerBalanceWarning))
  const looks = signers.map((watched) => {
    const tell = createTeller(watched, logger, now)
    return async () => {
      const { network, signer } = watched
      try {
        const funds = await network.chain.funds(signer)
        balance.set({ network: network.name, signer }, Number(funds))
        tell(funds, await levelOf(watched, funds))
      } catch (error) {
        logger.warn('the balance of a signer could not be read', { network: network.name, signer, error })
      }
    }
  })

  async function levelOf({ network, signer }: WatchedSigner, funds: bigint): Promise<Level> {
    if (funds >= network.signerBalanceWarning) return 'enough'
    if (funds === 0n) return 'empty'
    const { rows } = await pool.query<{ cost: string }>(COST, [network.name, signer])
    return funds < WANTED_TIMES * BigInt(rows[0]?.cost ?? '0') ? 'empty' : 'low'
  }

  return repeat({
    everyMs,
    async work() {
      await Promise.all(looks.map((look) => look()))
    },
    onError: (error) => logger.warn('the balances of the signers could not be read', { error }),
  })
}

function createTeller({ network, signer }: WatchedSigner, logger: Logger, now: () => Date) {
  let told: { level: Level; at: number } = { level: 'enough', at: 0 }
  return (funds: bigint, level: Level) => {
    const at = now().getTime()
    if (level === told.level && (level === 'enough' || at - told.at < TELL_EVERY_MS)) return
    told = { level, at }
    const facts = { network: network.name, signer, funds, warnBelow: network.signerBalanceWarning }
    if (level === 'enough') logger.info('a signer has enough for fees again', facts)
    else if (level === 'low') logger.warn('a signer has little left for fees; send it some', facts)
    else logger.error('a signer cannot pay for one more settlement; send it funds', facts)
  }
}
