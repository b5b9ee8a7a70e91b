import { createLogger, createMetrics } from '@tollgate/service'
import { closeAll, closeLater, readableLog } from '@tollgate/testing'
import { callRpc, sharedChain } from '../../testing/chain'
import { testFacilitator, type TestOptions } from '../../testing/facilitator'
import { figuresOf, untilFigure } from '../../testing/scrape-metrics'
import { settlementRows } from '../../testing/settlement-rows'
import { startSignerMonitor } from './signer-monitor'

afterAll(closeAll)

const rpcUrl = sharedChain()
const ETHER = 10n ** 18n
const WARN_BELOW = 10n ** 16n
const LOW = 'signer balance low'
const EMPTY = 'signer balance insufficient'
const ENOUGH = 'signer balance restored'

async function monitorSigner(options: TestOptions = {}) {
  const { networks, database, signers } = await testFacilitator(options)
  const signer = signers[0]!.address
  const log = readableLog()
  const metrics = createMetrics()
  const scrape = () => metrics.register.metrics()
  let minutes = 0
  const monitor = startSignerMonitor({
    signers: networks.all.flatMap((network) =>
      network.chain.signer.addresses.map((address) => ({
        network,
        signer: address,
        isLeader: () => address === signer,
      })),
    ),
    pool: database.pool,
    metrics,
    logger: createLogger({ service: 'facilitator', level: 'info', stream: log.stream }),
    now: () => new Date(minutes * 60_000),
    everyMs: 10,
  })
  closeLater(() => monitor.stop())

  const labels = `network="base-sepolia",signer="${signer}"`
  const shows = (wei: bigint) => untilFigure(scrape, 'tollgate_signer_balance', labels, Number(wei))
  async function has(wei: bigint) {
    await callRpc(rpcUrl, 'anvil_setBalance', signer, `0x${wei.toString(16)}`)
    await shows(wei)
  }
  return {
    signer,
    labels,
    scrape,
    log,
    rows: settlementRows(database.pool),
    shows,
    /** Sets the balance and waits until it was checked. A float distinguishes a thousand wei here. */
    async becomes(wei: bigint) {
      await has(wei)
      await has(wei - 1_000n)
    },
    pass: (more: number) => void (minutes += more),
    logged: () => log.lines().map(({ level, message }) => [level, message]),
  }
}

test('exports the balance, the threshold and the leader of each signer', async () => {
  const { scrape, labels, shows, logged } = await monitorSigner()
  await shows(10n * ETHER)
  expect(await figuresOf(scrape, 'tollgate_signer_balance_threshold')).toEqual({
    [labels]: Number(WARN_BELOW),
  })
  expect(await figuresOf(scrape, 'tollgate_signer_is_leader')).toEqual({ [labels]: 1 })
  expect(logged()).toEqual([])
})

test('warns below the threshold, repeats it after ten minutes, and logs the recovery', async () => {
  const { signer, log, becomes, pass, logged } = await monitorSigner()
  await becomes(WARN_BELOW + 5_000n)
  expect(logged()).toEqual([])
  await becomes(WARN_BELOW / 2n)
  expect(await log.line(LOW)).toMatchObject({
    level: 'warn',
    network: 'base-sepolia',
    signer,
    funds: (WARN_BELOW / 2n).toString(),
    warnBelow: WARN_BELOW.toString(),
  })
  pass(9)
  await becomes(WARN_BELOW / 3n)
  expect(logged()).toEqual([['warn', LOW]])
  pass(1)
  await becomes(WARN_BELOW / 4n)
  expect(logged()).toEqual([
    ['warn', LOW],
    ['warn', LOW],
  ])
  await becomes(ETHER)
  await log.line(ENOUGH)
  await becomes(WARN_BELOW / 2n)
  expect(logged()).toEqual([
    ['warn', LOW],
    ['warn', LOW],
    ['info', ENOUGH],
    ['warn', LOW],
  ])
})

test('logs an error at once if a signer cannot pay for one more settlement', async () => {
  const { log, becomes, logged } = await monitorSigner()
  await becomes(WARN_BELOW / 2n)
  await log.line(LOW)
  await becomes(1_000n)
  expect(await log.line(EMPTY)).toMatchObject({ level: 'error', funds: '0' })
  await becomes(WARN_BELOW / 2n)
  expect(logged()).toEqual([
    ['warn', LOW],
    ['error', EMPTY],
    ['warn', LOW],
  ])
})

test('the cost of one more settlement is the highest latest fee per payment of a batch', async () => {
  const { signer, log, rows, becomes, logged } = await monitorSigner()
  const clientId = await rows.client(await rows.user('shop@example.com'))
  const fee = (WARN_BELOW / 5n).toString()
  const shared = await rows.transaction({ signer, nonce: 0n, status: 'mined', fee })
  for (let i = 0; i < 5; i++)
    await rows.settlement(clientId, {
      status: 'settled',
      transactionId: shared,
      fee: (WARN_BELOW / 25n).toString(),
    })
  await becomes(WARN_BELOW / 2n)
  expect(logged()).toEqual([['warn', LOW]])

  const alone = await rows.transaction({ signer, nonce: 1n, status: 'final', fee })
  await rows.settlement(clientId, { status: 'settled', transactionId: alone, fee })
  await log.line(EMPTY)
})

test('a network that does not answer is logged, and the others are checked', async () => {
  const dark = {
    name: 'dark',
    chainId: '1',
    rpcUrls: ['http://127.0.0.1:1'],
    signerKeys: [`0x${'5'.repeat(64)}`],
  }
  const { log, becomes } = await monitorSigner({ networks: [dark] })
  expect(await log.line('signer balance read failed')).toMatchObject({ network: 'dark' })
  await becomes(WARN_BELOW / 2n)
  await log.line(LOW)
})
