import { openFacilitatorDatabase } from '@tollgate/database'
import { createLogger, createMetrics } from '@tollgate/service'
import { closeAll, closeLater, migratedDatabase, readableLog } from '@tollgate/testing'
import { figuresOf, untilFigure } from '../../testing/scrape-metrics'
import { settlementRows } from '../../testing/settlement-rows'
import { startSettlementMonitor } from './settlement-monitor'
import { type MonitoredSigner } from './monitored-signer'

afterAll(closeAll)

const signer = '0x2222222222222222222222222222222222222222'
const watchedSigner: MonitoredSigner = {
  network: {
    name: 'base',
    signerBalanceWarning: 1n,
    chain: { signer: { findProblem: () => Promise.resolve(undefined), funds: () => Promise.resolve(1n) } },
  },
  signer,
  isLeader: () => true,
}
const READ_AT = 'tollgate_settlement_stats_updated_timestamp_seconds'

async function startMonitor() {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator'), poolSize: 2 })
  closeLater(() => database.close())
  const { pool } = database
  const rows = settlementRows(pool)
  for (const network of ['base', 'gone']) await rows.asset(network)
  const clientId = await rows.client(await rows.user('shop@example.com'))

  const log = readableLog()
  const metrics = createMetrics()
  const scrape = () => metrics.register.metrics()
  let seconds = 1_000_000
  const begin = () => {
    const watch = startSettlementMonitor({
      pool,
      metrics,
      logger: createLogger({ service: 'facilitator', level: 'info', stream: log.stream }),
      signers: [watchedSigner],
      now: () => new Date(seconds * 1000),
      everyMs: 10,
    })
    closeLater(() => watch.stop())
  }
  return {
    pool,
    rows,
    scrape,
    begin,
    log,
    settlement: (row: Parameters<typeof rows.settlement>[1]) => rows.settlement(clientId, row),
    async pass(more: number) {
      seconds += more
      await untilFigure(scrape, READ_AT, '', seconds)
    },
    warnings: () => log.lines().filter(({ message }) => message === 'settlements stuck'),
  }
}
type TestMonitor = Awaited<ReturnType<typeof startMonitor>>

const all = async ({ scrape }: TestMonitor) => ({
  open: await figuresOf(scrape, 'tollgate_settlements_open'),
  stuck: await figuresOf(scrape, 'tollgate_settlements_stuck'),
  oldest: await figuresOf(scrape, 'tollgate_settlements_oldest_age_seconds'),
})
const near = (seconds: number): unknown => ({
  asymmetricMatch: (got: unknown) => typeof got === 'number' && got >= seconds && got < seconds + 60,
  toString: () => `about ${seconds}`,
})

test('exports the open and stuck settlements and the oldest age of each state, with zeros', async () => {
  const monitor = await startMonitor()
  await monitor.settlement({ network: 'base', ageSeconds: 300 })
  await monitor.settlement({ network: 'base', ageSeconds: 3_000 })
  await monitor.settlement({ network: 'base', ageSeconds: 5 })
  const transactionId = await monitor.rows.transaction({ network: 'base', signer })
  await monitor.settlement({ network: 'base', status: 'signed', transactionId, ageSeconds: 20 })
  await monitor.settlement({ network: 'base', status: 'settled', ageSeconds: 500 })
  await monitor.settlement({
    network: 'base',
    status: 'failed',
    errorReason: 'payment_expired',
    ageSeconds: 500,
  })
  await monitor.settlement({
    network: 'base',
    status: 'reversed',
    errorReason: 'payment_expired',
    ageSeconds: 500,
  })
  monitor.begin()
  await monitor.pass(1)
  expect(await all(monitor)).toEqual({
    open: {
      'network="base",state="claimed"': 3,
      'network="base",state="signed"': 1,
      'network="base",state="reversed"': 0,
    },
    stuck: {
      'network="base",state="claimed"': 2,
      'network="base",state="signed"': 0,
      'network="base",state="reversed"': 0,
    },
    oldest: {
      'network="base",state="claimed"': near(3_000),
      'network="base",state="signed"': near(20),
      'network="base",state="reversed"': 0,
    },
  })
})

test('drops completed settlements, and includes networks that are no longer configured', async () => {
  const monitor = await startMonitor()
  const id = await monitor.settlement({ network: 'gone', status: 'reversed', ageSeconds: 400 })
  monitor.begin()
  await monitor.pass(1)
  const gone = 'network="gone",state="reversed"'
  expect(await all(monitor)).toMatchObject({
    open: { [gone]: 1 },
    stuck: { [gone]: 1 },
    oldest: { [gone]: near(400) },
  })
  await monitor.pool.query(`UPDATE settlements SET error_reason = 'payment_expired' WHERE id = $1`, [id])
  await monitor.pass(1)
  for (const figures of Object.values(await all(monitor)))
    expect(Object.entries(figures).filter(([, value]) => value !== 0)).toEqual([])
})

test('counts the pending transactions of each signer, without those signed by payers', async () => {
  const monitor = await startMonitor()
  const transaction = (nonce: bigint | null, status: 'signed' | 'mined' | 'superseded') =>
    monitor.rows.transaction({ network: 'base', signer, nonce, status })
  await transaction(1n, 'mined')
  await transaction(2n, 'superseded')
  monitor.begin()
  await monitor.pass(1)
  const unmined = () => figuresOf(monitor.scrape, 'tollgate_signer_pending_transactions')
  const label = `network="base",signer="${signer}"`
  expect(await unmined()).toEqual({ [label]: 0 })
  await transaction(3n, 'signed')
  await transaction(4n, 'signed')
  await transaction(null, 'signed')
  await monitor.pass(1)
  expect(await unmined()).toEqual({ [label]: 2 })
})

test('logs stuck settlements by state and the oldest with its last error, once a minute', async () => {
  const monitor = await startMonitor()
  await monitor.settlement({ network: 'base', ageSeconds: 200 })
  const oldest = await monitor.settlement({ network: 'base', ageSeconds: 400, lastError: 'waits for funds' })
  await monitor.settlement({ network: 'gone', status: 'reversed', ageSeconds: 300 })
  await monitor.settlement({ network: 'base', ageSeconds: 10 })
  monitor.begin()
  expect(await monitor.log.line('settlements stuck')).toMatchObject({
    level: 'warn',
    claimed: 2,
    signed: 0,
    reversed: 1,
    oldest: oldest.toString(),
    oldestSeconds: near(400),
    network: 'base',
    state: 'claimed',
    lastError: 'waits for funds',
  })
  await monitor.pass(59)
  await monitor.pass(0.5)
  expect(monitor.warnings()).toHaveLength(1)
  await monitor.pass(1)
  await monitor.pass(1)
  expect(monitor.warnings()).toHaveLength(2)

  await monitor.pool.query(`UPDATE settlements SET status = 'failed', error_reason = 'payment_expired'`)
  await monitor.pass(120)
  await monitor.pass(1)
  expect(monitor.warnings()).toHaveLength(2)
})

test('continues after a failed query, and exports the time of the last successful one', async () => {
  const monitor = await startMonitor()
  monitor.begin()
  await monitor.pass(1)
  await monitor.pool.query('ALTER TABLE settlements rename to settlements_away')
  await monitor.log.line('open settlement query failed')
  await monitor.pool.query('ALTER TABLE settlements_away rename to settlements')
  await monitor.pass(1)
  expect(await figuresOf(monitor.scrape, READ_AT)).toEqual({ '': 1_000_002 })
})
