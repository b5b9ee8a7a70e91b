import { type Pool } from '@tollgate/database'
import { startInterval, type Logger, type Metrics } from '@tollgate/service'
import { type MonitoredSigner } from './monitored-signer'

const POLL_INTERVAL_MS = 30_000
const LOG_INTERVAL_MS = 600_000

/** A node requires the maximum price for the whole gas limit, several times the fee that is charged. */
const MIN_RESERVE_FACTOR = 4n
/** The highest fee per payment of the signer's latest transactions. */
const COST = `
SELECT coalesce(max(ceil(fee / greatest(1, (SELECT count(*) FROM settlements WHERE transaction_id = latest.id)))), 0)::text AS cost
FROM (
  SELECT id, fee FROM transactions WHERE network = $1 AND signer = $2 AND nonce IS NOT NULL ORDER BY nonce DESC LIMIT 20
) AS latest WHERE fee IS NOT NULL`

type Level = 'enough' | 'low' | 'empty'

/**
 * Exports each signer's balance and whether it can sign, and logs when it is low, empty (too little for one more settlement) or sufficient again, and
 * when a remote signer cannot sign or can again.
 */
export function startSignerMonitor(parts: {
  signers: readonly MonitoredSigner[]
  pool: Pool
  metrics: Metrics
  logger: Logger
  now: () => Date
  everyMs?: number
}) {
  const { signers, pool, metrics, logger, now, everyMs = POLL_INTERVAL_MS } = parts
  const labelNames = ['network', 'signer'] as const
  const balance = metrics.gauge({
    name: 'tollgate_signer_balance',
    help: 'Balance of a signer in the smallest native unit, rounded to a float',
    labelNames,
  })
  const available = metrics.gauge({
    name: 'tollgate_signer_available',
    help: '0 if the remote signer does not answer or does not have the key, else 1',
    labelNames,
  })
  const threshold = metrics.gauge({
    name: 'tollgate_signer_balance_threshold',
    help: 'Balance below which the log warns, from the networks file',
    labelNames,
  })
  metrics.gauge({
    name: 'tollgate_signer_is_leader',
    help: '1 if this process holds the leader lock of the signer, else 0',
    labelNames,
    collect() {
      for (const { network, signer, isLeader } of signers)
        this.set({ network: network.name, signer }, isLeader() ? 1 : 0)
    },
  })
  for (const { network, signer } of signers)
    threshold.set({ network: network.name, signer }, Number(network.signerBalanceWarning))
  const checks = signers.map((monitored) => {
    const report = createReporter(monitored, logger, now)
    const reportProblem = createProblemReporter(monitored, logger, now)
    const { network, signer } = monitored
    async function checkSigner() {
      const problem = await network.chain.signer.findProblem(signer)
      available.set({ network: network.name, signer }, problem === undefined ? 1 : 0)
      reportProblem(problem)
    }
    async function checkFunds() {
      try {
        const funds = await network.chain.signer.funds(signer)
        balance.set({ network: network.name, signer }, Number(funds))
        report(funds, await levelOf(monitored, funds))
      } catch (error) {
        logger.warn('signer balance read failed', { network: network.name, signer, error })
      }
    }
    return () => Promise.all([checkSigner(), checkFunds()])
  })

  async function levelOf({ network, signer }: MonitoredSigner, funds: bigint): Promise<Level> {
    if (funds >= network.signerBalanceWarning) return 'enough'
    if (funds === 0n) return 'empty'
    const { rows } = await pool.query<{ cost: string }>(COST, [network.name, signer])
    return funds < MIN_RESERVE_FACTOR * BigInt(rows[0]?.cost ?? '0') ? 'empty' : 'low'
  }

  return startInterval({
    everyMs,
    async work() {
      await Promise.all(checks.map((check) => check()))
    },
    onError: (error) => logger.warn('signer balance check failed', { error }),
  })
}

function createProblemReporter({ network, signer }: MonitoredSigner, logger: Logger, now: () => Date) {
  let last: { problem: string | undefined; at: number } = { problem: undefined, at: 0 }
  return (problem: string | undefined) => {
    const at = now().getTime()
    const isRepeated = (problem === undefined) === (last.problem === undefined)
    if (isRepeated && (problem === undefined || at - last.at < LOG_INTERVAL_MS)) return
    last = { problem, at }
    const facts = { network: network.name, signer }
    if (problem === undefined) logger.info('remote signer restored', facts)
    else logger.error('remote signer unavailable', { ...facts, problem })
  }
}

function createReporter({ network, signer }: MonitoredSigner, logger: Logger, now: () => Date) {
  let last: { level: Level; at: number } = { level: 'enough', at: 0 }
  return (funds: bigint, level: Level) => {
    const at = now().getTime()
    if (level === last.level && (level === 'enough' || at - last.at < LOG_INTERVAL_MS)) return
    last = { level, at }
    const facts = { network: network.name, signer, funds, warnBelow: network.signerBalanceWarning }
    if (level === 'enough') logger.info('signer balance restored', facts)
    else if (level === 'low') logger.warn('signer balance low', facts)
    else logger.error('signer balance insufficient', facts)
  }
}
