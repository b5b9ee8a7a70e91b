import { createMetrics } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { newPayer, sharedChain } from '../testing/chain'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { figuresOf, untilFigure } from '../testing/scrape-metrics'
import { paymentRequest } from '../testing/payment'
import { createSettlementMetrics } from './metrics'

afterAll(closeAll)

const rpcUrl = sharedChain()
const networks = [{ name: 'base', chain: { signer: { addresses: ['0xabc'] } } }]

test('every counter starts at zero, so that its first increment is visible', async () => {
  const metrics = createMetrics()
  const scrape = () => metrics.register.metrics()
  createSettlementMetrics({ metrics, networks, now: () => new Date() })
  const zeros: [string, Record<string, number>][] = [
    ['tollgate_settlements_completed_total', { 'network="base",outcome="settled",reason=""': 0 }],
    ['tollgate_transactions_replaced_total', { 'network="base",signer="0xabc"': 0 }],
    ['tollgate_settlements_reversed_total', { 'network="base"': 0 }],
    ['tollgate_batch_size_count', { 'network="base"': 0 }],
    [
      'tollgate_settlement_duration_seconds_count',
      {
        'network="base",outcome="settled"': 0,
        'network="base",outcome="failed"': 0,
        'network="base",outcome="reversed"': 0,
      },
    ],
  ]
  for (const [name, figures] of zeros) expect([name, await figuresOf(scrape, name)]).toEqual([name, figures])
})

test('counts completed settlements by outcome, reason and duration, replacements, reversals and batch sizes', async () => {
  const metrics = createMetrics()
  const scrape = () => metrics.register.metrics()
  const now = new Date('2027-01-01T00:00:10Z')
  const counts = createSettlementMetrics({ metrics, networks, now: () => now })
  const network = 'base'
  counts.ended({ network, outcome: 'settled', reason: '', claimedAt: new Date('2027-01-01T00:00:07.5Z') })
  counts.ended({
    network,
    outcome: 'failed',
    reason: 'payment_expired',
    claimedAt: new Date('2026-12-31T23:59:10Z'),
  })
  // The database's clock may be ahead of this one.
  counts.ended({ network, outcome: 'settled', reason: '', claimedAt: new Date('2027-01-01T00:00:11Z') })
  counts.replaced({ network, signer: '0xabc' })
  counts.reversed({ network })
  counts.reversed({ network })
  counts.batch({ network, payments: 40 })
  counts.batch({ network, payments: 1 })

  expect(await figuresOf(scrape, 'tollgate_settlements_completed_total')).toEqual({
    'network="base",outcome="settled",reason=""': 2,
    'network="base",outcome="failed",reason="payment_expired"': 1,
  })
  expect(await figuresOf(scrape, 'tollgate_settlement_duration_seconds_sum')).toEqual({
    'network="base",outcome="settled"': 2.5,
    'network="base",outcome="failed"': 60,
    'network="base",outcome="reversed"': 0,
  })
  expect(await figuresOf(scrape, 'tollgate_transactions_replaced_total')).toEqual({
    'network="base",signer="0xabc"': 1,
  })
  expect(await figuresOf(scrape, 'tollgate_settlements_reversed_total')).toEqual({ 'network="base"': 2 })
  expect(await figuresOf(scrape, 'tollgate_batch_size_sum')).toEqual({ 'network="base"': 41 })
  expect(await figuresOf(scrape, 'tollgate_batch_size_count')).toEqual({ 'network="base"': 2 })
})

test('a facilitator exports its completed and open settlements and its signer', async () => {
  const { facilitator, signer, settle } = await facilitatorWithClient()
  const { scrape } = facilitator
  const labels = `network="base-sepolia",signer="${signer.address}"`
  await untilFigure(scrape, 'tollgate_signer_balance', labels, 1e19)
  const body = await paymentRequest(await newPayer(rpcUrl))
  expect(await settle(body)).toMatchObject({ success: true })
  await untilFigure(
    scrape,
    'tollgate_settlements_completed_total',
    'network="base-sepolia",outcome="settled",reason=""',
    1,
  )
  await untilFigure(scrape, 'tollgate_settlements_open', 'network="base-sepolia",state="signed"', 0)

  const lines = (await scrape()).split('\n')
  for (const line of [
    'tollgate_settlements_stuck{network="base-sepolia",state="reversed"} 0',
    'tollgate_settlements_oldest_age_seconds{network="base-sepolia",state="claimed"} 0',
    'tollgate_batch_size_sum{network="base-sepolia"} 1',
    `tollgate_signer_pending_transactions{${labels}} 0`,
    `tollgate_signer_is_leader{${labels}} 1`,
    'tollgate_settlements_reversed_total{network="base-sepolia"} 0',
  ])
    expect(lines).toContain(line)
})
