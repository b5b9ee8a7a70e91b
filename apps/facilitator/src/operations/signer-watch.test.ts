import { createLogger, createMetrics } from '@tollgate/service'
import { closeAll, closeLater, readableLog } from '@tollgate/testing'
import { callRpc, newSigner, sharedChain } from '../testing/chain'
import { testFacilitator, type TestOptions } from '../testing/facilitator'
import { figuresOf, untilFigure } from '../testing/figures'
import { settlementRows } from '../testing/settlement-rows'
import { startSignerWatch } from './signer-watch'

afterAll(closeAll)

const rpcUrl = sharedChain()
const ETHER = 10n ** 18n
const WARN_BELOW = 10n ** 16n
const LOW = 'a signer has little left for fees; send it some'
const EMPTY = 'a signer cannot pay for one more settlement; send it funds'
const ENOUGH = 'a signer has enough for fees again'

/** A watch over a signer with ten ether on a real chain, which tells the time that the test sets. */
async function watched(options: Partial<TestOptions> = {}) {
  const { address: signer, privateKey } = await newSigner(rpcUrl)
  const { networks, database } = await testFacilitator({ rpcUrl, signerKeys: [privateKey], ...options })
  const log = readableLog()
  const metrics = createMetrics()
  const scrape = () => metrics.register.metrics()
  let minutes = 0
  const watch = startSignerWatch({
    signers: networks.all.flatMap((network) =>
      network.chain.signers.map((address) => ({
        network,
        signer: address,
        isOwner: () => address === signer,
      })),
    ),
    pool: database.pool,
    metrics,
    logger: createLogger({ service: 'facilitator', level: 'info', stream: log.stream }),
    now: () => new Date(minutes * 60_000),
    everyMs: 10,
  })
  closeLater(() => watch.stop())

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
    /** Gives the signer this balance, and resolves once it was told. A float tells a thousand wei apart here. */
    async becomes(wei: bigint) {
      await has(wei)
      await has(wei - 1_000n)
    },
    pass: (more: number) => void (minutes += more),
    told: () => log.lines().map(({ level, message }) => [level, message]),
  }
}

test('tells what each signer has, from how little on it warns, and who sends for it', async () => {
  const { scrape, labels, shows, told } = await watched()
  await shows(10n * ETHER)
  expect(await figuresOf(scrape, 'tollgate_signer_balance_warning')).toEqual({
    [labels]: Number(WARN_BELOW),
  })
  expect(await figuresOf(scrape, 'tollgate_settler_owner')).toEqual({ [labels]: 1 })
  expect(told()).toEqual([])
})

test('warns once when a signer falls below the threshold, again after ten minutes, and says when it has enough', async () => {
  const { signer, log, becomes, pass, told } = await watched()
  await becomes(WARN_BELOW + 5_000n)
  expect(told()).toEqual([])
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
  expect(told()).toEqual([['warn', LOW]])
  pass(1)
  await becomes(WARN_BELOW / 4n)
  expect(told()).toEqual([
    ['warn', LOW],
    ['warn', LOW],
  ])
  await becomes(ETHER)
  await log.line(ENOUGH)
  await becomes(WARN_BELOW / 2n)
  expect(told()).toEqual([
    ['warn', LOW],
    ['warn', LOW],
    ['info', ENOUGH],
    ['warn', LOW],
  ])
})

test('it is an error when a signer cannot pay for one more settlement, told at once', async () => {
  const { log, becomes, told } = await watched()
  await becomes(WARN_BELOW / 2n)
  await log.line(LOW)
  await becomes(1_000n)
  expect(await log.line(EMPTY)).toMatchObject({ level: 'error', funds: '0' })
  await becomes(WARN_BELOW / 2n)
  expect(told()).toEqual([
    ['warn', LOW],
    ['error', EMPTY],
    ['warn', LOW],
  ])
})

test('what one more settlement takes is told by the dearest of the latest, which a batch shares', async () => {
  const { signer, log, rows, becomes, told } = await watched()
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
  expect(told()).toEqual([['warn', LOW]])

  const alone = await rows.transaction({ signer, nonce: 1n, status: 'final', fee })
  await rows.settlement(clientId, { status: 'settled', transactionId: alone, fee })
  await log.line(EMPTY)
})

test('a network that gives no answer is told in the log, and keeps no other from being looked at', async () => {
  const dark = {
    name: 'dark',
    chainId: '1',
    rpcUrls: ['http://127.0.0.1:1'],
    signerKeys: [`0x${'5'.repeat(64)}`],
  }
  const { log, becomes } = await watched({ networks: [dark] })
  expect(await log.line('the balance of a signer could not be read')).toMatchObject({ network: 'dark' })
  await becomes(WARN_BELOW / 2n)
  await log.line(LOW)
})
