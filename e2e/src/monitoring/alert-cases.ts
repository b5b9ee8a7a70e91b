/**
 * An alert, the series with which it fires, and those with which it does not. A series is written as promtool takes it, one value each
 * 30 seconds: `0+10x60` begins at 0 and grows by 10, 60 times.
 */
export type AlertCase = {
  alert: string
  at: string
  fires: Record<string, string>
  labels?: Record<string, string>
  summary: string
  quiet: Record<string, string>
}

const base = { network: 'base' }
const signer = { network: 'base', signer: '0xa' }
const circuit = 'tollgate_upstream_circuit_state{chain="eip155:1",provider="one"'
const gauge = (name: string, quiet: number, fires: number) => ({
  quiet: { [name]: `${quiet}x120` },
  fires: { [name]: `${fires}x120` },
})
/** A counter of failures beside one of successes: `fires` in each 30 seconds of 100 in all. */
const share = (
  name: (outcome: string) => string,
  [bad, good]: [string, string],
  quiet: number,
  fires: number,
) => {
  const with_ = (failures: number) => ({
    [name(bad)]: `0+${failures}x120`,
    [name(good)]: `0+${100 - failures}x120`,
  })
  return { quiet: with_(quiet), fires: with_(fires) }
}
/** By a job of the pods' annotations, and by a PodMonitor, whose series have more labels. */
const scrapedTwice = (name: string, values: string) => ({
  [`${name},instance="10.0.0.1:9081",job="kubernetes-pods"}`]: values,
  [`${name},instance="10.0.0.1:9081",job="tollgate/facilitator",pod="facilitator-1"}`]: values,
})
/** All observations are in the bucket up to `le`. */
const histogram = (name: string, labels: string, le: string) => ({
  [`${name}_bucket{${labels},le="0.05"}`]: le === '0.05' ? '0+10x120' : '0x120',
  [`${name}_bucket{${labels},le="5"}`]: le === '60' ? '0x120' : '0+10x120',
  [`${name}_bucket{${labels},le="60"}`]: '0+10x120',
  [`${name}_bucket{${labels},le="+Inf"}`]: '0+10x120',
})

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'TollgateGatewayAbsent',
    at: '5m',
    fires: { up: '1x120' },
    summary: 'no gateway is scraped',
    quiet: { 'tollgate_payment_stats_updated_timestamp_seconds{instance="a"}': '0+30x120' },
  },
  {
    alert: 'TollgateGatewayPaymentsUnread',
    at: '10m',
    fires: { 'tollgate_payment_stats_updated_timestamp_seconds{instance="a"}': '0x120' },
    summary: 'no gateway has read its database for a minute',
    quiet: {
      'tollgate_payment_stats_updated_timestamp_seconds{instance="a"}': '0x120',
      'tollgate_payment_stats_updated_timestamp_seconds{instance="b"}': '0+30x120',
    },
  },
  {
    alert: 'TollgateCallsFailing',
    at: '20m',
    ...share(
      (outcome) => `tollgate_calls_total{chain="eip155:1",method_class="read",outcome="${outcome}"}`,
      ['upstream_failed', 'answered'],
      5,
      20,
    ),
    labels: { chain: 'eip155:1' },
    summary: '20% of the calls to eip155:1 fail',
  },
  {
    alert: 'TollgateUpstreamDown',
    at: '30m',
    // Each probe fails, and opens the circuit for less than the interval of the scrapes.
    fires: { [`${circuit},endpoint="rpc-0"}`]: '2 1 1 1 1 '.repeat(24) },
    labels: { chain: 'eip155:1', provider: 'one', endpoint: 'rpc-0' },
    summary: 'calls to rpc-0 of one on eip155:1 keep failing',
    quiet: {
      // Another provider serves the calls now, so that none probes this one.
      [`${circuit},endpoint="rpc-0"}`]: '2x20 1x100',
      // A probe was answered.
      [`${circuit},endpoint="rpc-1"}`]: '2x57 0x62',
    },
  },
  {
    alert: 'TollgateProviderSecret',
    at: '20m',
    fires: { 'tollgate_provider_secret_state{chain="eip155:1",provider="one"}': '0x5 2x60' },
    labels: { chain: 'eip155:1', provider: 'one' },
    summary: 'a secret of one on eip155:1 cannot be read',
    // A file that is being replaced.
    quiet: { 'tollgate_provider_secret_state{chain="eip155:1",provider="one"}': '0x5 1x2 0x60' },
  },
  {
    alert: 'TollgateUpstreamSlow',
    at: '30m',
    fires: histogram('tollgate_upstream_duration_seconds', 'chain="eip155:1",provider="one"', '5'),
    labels: { chain: 'eip155:1', provider: 'one' },
    summary: '5 % of the answers of one on eip155:1 take more than 4.753s',
    quiet: histogram('tollgate_upstream_duration_seconds', 'chain="eip155:1",provider="one"', '0.05'),
  },
  {
    alert: 'TollgateLedgerSlow',
    at: '20m',
    fires: histogram('tollgate_ledger_statement_duration_seconds', 'batch="spend"', '5'),
    labels: { batch: 'spend' },
    summary: '5 % of the ledger statements spend take more than 4.753s',
    quiet: histogram('tollgate_ledger_statement_duration_seconds', 'batch="spend"', '0.05'),
  },
  {
    alert: 'TollgateLedgerViolated',
    at: '50m',
    // The process is restarted, and has not found it again yet.
    fires: {
      'tollgate_ledger_violations_total{invariant="balance_is_negative"}': '0x5 1x70 0x120',
      'tollgate_ledger_violated_accounts{invariant="balance_is_negative"}': '0x5 1x70 0x120',
    },
    labels: { invariant: 'balance_is_negative' },
    summary: 'the audit finds accounts with balance_is_negative',
    // The counter still has it, though the account is repaired.
    quiet: {
      'tollgate_ledger_violations_total{invariant="balance_is_negative"}': '0+1x120',
      'tollgate_ledger_violated_accounts{invariant="balance_is_negative"}': '0x120',
    },
  },
  {
    alert: 'TollgateLedgerUnaudited',
    at: '49h',
    // Each process is restarted before its audit has reached all accounts.
    fires: {
      'tollgate_ledger_audit_timestamp_seconds{instance="a"}': '0x3000 _x3000',
      'tollgate_ledger_audit_timestamp_seconds{instance="b"}': '_x3000 0x3000',
    },
    summary: 'no gateway has completed an audit of all accounts for a day',
    quiet: {
      'tollgate_ledger_audit_timestamp_seconds{instance="a"}': '0x6000',
      'tollgate_ledger_audit_timestamp_seconds{instance="b"}': '0x2900 90000+30x3100',
    },
  },
  {
    alert: 'TollgateLedgerOverdue',
    at: '10m',
    ...gauge('tollgate_ledger_overdue{kind="calls"}', 0, 3),
    labels: { kind: 'calls' },
    summary: '3 calls have waited for more than a minute to end',
  },
  {
    alert: 'TollgatePaymentsStuck',
    at: '10m',
    ...gauge('tollgate_payments_oldest_age_seconds{state="settling"}', 30, 180),
    labels: { state: 'settling' },
    summary: 'the oldest payment that is settling has waited for 3m 0s',
  },
  {
    alert: 'TollgatePaymentDisputed',
    at: '10m',
    fires: { 'tollgate_payments_open{state="disputed"}': '2x120' },
    summary: '2 payments are disputed and wait for an operator',
    quiet: {
      'tollgate_payments_open{state="disputed"}': '0x120',
      'tollgate_payments_open{state="settling"}': '2x120',
    },
  },
  {
    alert: 'TollgatePaymentsRefused',
    at: '40m',
    ...share(
      (outcome) => `tollgate_payments_completed_total{network="base",outcome="${outcome}",reason=""}`,
      ['refused', 'credited'],
      20,
      60,
    ),
    labels: base,
    summary: 'more than half of the payments on base are refused',
  },
  {
    alert: 'TollgateFacilitatorUnanswered',
    at: '20m',
    ...share(
      (outcome) =>
        `tollgate_facilitator_request_duration_seconds_count{operation="settle",outcome="${outcome}"}`,
      ['unknown', 'ok'],
      10,
      40,
    ),
    summary: 'more than 20 % of the calls from the gateway to the facilitator have no result',
  },
  {
    alert: 'TollgatePaymentReversed',
    at: '5m',
    ...gauge('tollgate_payments_reversed', 0, 2),
    summary: 'reorgs undid 2 payments of the last day, whose credits are granted',
  },
  {
    alert: 'TollgateReversalsUnchecked',
    at: '30m',
    fires: { tollgate_reversal_check_timestamp_seconds: '0x120' },
    summary: 'no gateway has learned of reversed payments for 15 minutes',
    quiet: { tollgate_reversal_check_timestamp_seconds: '0+30x120' },
  },
  {
    alert: 'TollgateSettlementsStuck',
    at: '5m',
    ...gauge('tollgate_settlements_stuck{network="base",state="signed"}', 0, 4),
    labels: { ...base, state: 'signed' },
    summary: '4 settlements on base have been signed for more than two minutes',
  },
  {
    alert: 'TollgateAssetSuspended',
    at: '5m',
    ...gauge('tollgate_assets_suspended{network="base"}', 0, 1),
    labels: base,
    summary: '1 assets on base were suspended by the facilitator',
  },
  {
    alert: 'TollgateSettlementReversed',
    at: '8m',
    fires: { 'tollgate_settlements_reversed_total{network="base"}': '0x5 1x120' },
    labels: base,
    summary: 'a reorg on base reversed settlements',
    quiet: { 'tollgate_settlements_reversed_total{network="base"}': '1x120' },
  },
  {
    alert: 'TollgateSignerWithoutLeader',
    at: '5m',
    fires: { 'tollgate_signer_is_leader{network="base",signer="0xa",instance="a"}': '0x120' },
    labels: signer,
    summary: 'no process holds the lock of 0xa on base',
    quiet: {
      'tollgate_signer_is_leader{network="base",signer="0xa",instance="a"}': '0x120',
      'tollgate_signer_is_leader{network="base",signer="0xa",instance="b"}': '1x120',
    },
  },
  {
    alert: 'TollgateSignerWithTwoLeaders',
    at: '5m',
    fires: {
      'tollgate_signer_is_leader{network="base",signer="0xa",instance="a"}': '1x120',
      'tollgate_signer_is_leader{network="base",signer="0xa",instance="b"}': '1x120',
    },
    labels: signer,
    summary: 'two processes lead 0xa on base: do two databases share it?',
    quiet: scrapedTwice('tollgate_signer_is_leader{network="base",signer="0xa"', '1x120'),
  },
  {
    alert: 'TollgateRemoteSignerFails',
    at: '15m',
    fires: { 'tollgate_signer_errors_total{network="base",signer="0xa",failure="timeout"}': '0+1x120' },
    labels: { ...signer, failure: 'timeout' },
    summary: 'requests to the remote signer of 0xa on base end with timeout',
    quiet: scrapedTwice(
      'tollgate_signer_errors_total{network="base",signer="0xa",failure="timeout"',
      '0+0.1x120',
    ),
  },
  {
    alert: 'TollgateSignerEmpty',
    at: '5m',
    fires: {
      'tollgate_signer_balance{network="base",signer="0xa"}': '9x120',
      'tollgate_signer_balance_threshold{network="base",signer="0xa"}': '100x120',
    },
    labels: signer,
    summary: '0xa on base has less than a tenth of its fee threshold',
    quiet: {
      'tollgate_signer_balance{network="base",signer="0xa"}': '50x120',
      'tollgate_signer_balance_threshold{network="base",signer="0xa"}': '100x120',
    },
  },
  {
    alert: 'TollgateSignerLow',
    at: '10m',
    fires: {
      'tollgate_signer_balance{network="base",signer="0xa"}': '50x120',
      'tollgate_signer_balance_threshold{network="base",signer="0xa"}': '100x120',
    },
    labels: signer,
    summary: '0xa on base is below its fee threshold',
    quiet: {
      'tollgate_signer_balance{network="base",signer="0xa"}': '100x120',
      'tollgate_signer_balance_threshold{network="base",signer="0xa"}': '100x120',
    },
  },
  {
    alert: 'TollgateRemoteSignerUnavailable',
    at: '5m',
    fires: {
      'tollgate_signer_available{network="base",signer="0xa",instance="a"}': '0x120',
      'tollgate_signer_available{network="base",signer="0xa",instance="b"}': '0x120',
    },
    labels: signer,
    summary: 'no replica gets signatures of 0xa on base from its remote signer',
    quiet: {
      'tollgate_signer_available{network="base",signer="0xa",instance="a"}': '0x120',
      'tollgate_signer_available{network="base",signer="0xa",instance="b"}': '1x120',
    },
  },
  {
    alert: 'TollgateSignerFull',
    at: '5m',
    ...gauge('tollgate_signer_pending_transactions{network="base",signer="0xa"}', 15, 16),
    labels: signer,
    summary: '0xa on base has 16 pending transactions, the maximum',
  },
  {
    alert: 'TollgateFeesRising',
    at: '20m',
    fires: { 'tollgate_transactions_replaced_total{network="base",signer="0xa"}': '0+1x120' },
    labels: base,
    summary: 'transactions on base are replaced with higher fees',
    quiet: scrapedTwice('tollgate_transactions_replaced_total{network="base",signer="0xa"', '0+0.1x120'),
  },
  {
    alert: 'TollgateSettlementsFailing',
    at: '40m',
    ...share(
      (outcome) => `tollgate_settlements_completed_total{network="base",outcome="${outcome}",reason=""}`,
      ['failed', 'settled'],
      10,
      30,
    ),
    labels: base,
    summary: 'more than 20 % of the settlements on base fail',
  },
  {
    alert: 'TollgateSettlementsSlow',
    at: '40m',
    fires: histogram('tollgate_settlement_duration_seconds', 'network="base",outcome="settled"', '60'),
    labels: base,
    summary: '5 % of the settlements on base take more than 30 seconds',
    quiet: histogram('tollgate_settlement_duration_seconds', 'network="base",outcome="settled"', '5'),
  },
  {
    alert: 'TollgateSettlementsUnread',
    at: '10m',
    fires: { tollgate_settlement_stats_updated_timestamp_seconds: '0x120' },
    summary: 'no facilitator has read its database for a minute',
    quiet: { tollgate_settlement_stats_updated_timestamp_seconds: '0+30x120' },
  },
  {
    alert: 'TollgateFacilitatorAbsent',
    at: '5m',
    fires: { up: '1x120' },
    summary: 'no facilitator is scraped',
    quiet: { tollgate_settlement_stats_updated_timestamp_seconds: '0+30x120' },
  },
  {
    alert: 'TollgateSettleErrors',
    at: '20m',
    ...share(
      (outcome) => `tollgate_payment_requests_total{operation="settle",outcome="${outcome}",reason=""}`,
      ['error', 'settled'],
      2,
      10,
    ),
    labels: { operation: 'settle' },
    summary: 'more than 5 % of the requests to settle end without a result',
  },
  {
    alert: 'TollgateErrors',
    at: '20m',
    ...share(
      (status) =>
        `tollgate_http_request_duration_seconds_count{job="tollgate/gateway",method="GET",route="/",status="${status}"}`,
      ['500', '200'],
      1,
      10,
    ),
    labels: { job: 'tollgate/gateway' },
    summary: '10% of the answers of tollgate/gateway are errors of the server',
  },
  {
    alert: 'TollgateConnectionsExhausted',
    at: '10m',
    fires: { 'tollgate_postgres_waiting_queries{job="gateway"}': '5x120' },
    labels: { job: 'gateway' },
    summary: 'queries of gateway wait for a connection to Postgres',
    quiet: { 'tollgate_postgres_waiting_queries{job="gateway"}': `5 0 ${'5 0 '.repeat(30)}` },
  },
  {
    alert: 'TollgateRedisAway',
    at: '5m',
    ...gauge('tollgate_redis_up{job="gateway",instance="a"}', 1, 0),
    labels: { job: 'gateway' },
    summary: 'a replica of gateway has no connection to Redis',
  },
  {
    alert: 'TollgateEventLoopBlocked',
    at: '10m',
    fires: { 'nodejs_eventloop_lag_p99_seconds{job="tollgate/facilitator"}': '0.5x120' },
    labels: { job: 'tollgate/facilitator' },
    summary: 'the event loop of a replica of tollgate/facilitator is blocked for 500ms',
    quiet: {
      'nodejs_eventloop_lag_p99_seconds{job="tollgate/facilitator"}': '0.02x120',
      'nodejs_eventloop_lag_p99_seconds{job="another-program"}': '0.5x120',
    },
  },
  {
    alert: 'TollgateWebhooksUndelivered',
    at: '30m',
    fires: {
      'tollgate_webhook_oldest_pending_age_seconds{job="gateway"}': '700x120',
      'tollgate_webhook_deliveries_total{job="gateway",outcome="delivered"}': '7x120',
    },
    labels: { job: 'gateway' },
    summary: 'gateway has delivered no webhook for ten minutes, and some are pending',
    quiet: {
      'tollgate_webhook_oldest_pending_age_seconds{job="gateway"}': '700x120',
      'tollgate_webhook_deliveries_total{job="gateway",outcome="delivered"}': '0+1x120',
    },
  },
  {
    alert: 'TollgateRetentionFailing',
    at: '30m',
    fires: { 'tollgate_retention_failures_total{job="gateway",task="usage"}': '0+1x120' },
    labels: { job: 'gateway', task: 'usage' },
    summary: 'the task usage of the retention job of gateway fails',
    quiet: { 'tollgate_retention_failures_total{job="gateway",task="usage"}': '1x120' },
  },
  {
    alert: 'TollgateRetentionStopped',
    at: '100m',
    fires: { 'tollgate_retention_last_run_timestamp_seconds{job="gateway",instance="a"}': '0x240' },
    labels: { job: 'gateway' },
    summary: 'gateway has not run its retention job for an hour',
    quiet: {
      'tollgate_retention_last_run_timestamp_seconds{job="gateway",instance="a"}': '0x240',
      'tollgate_retention_last_run_timestamp_seconds{job="gateway",instance="b"}': '0+30x240',
    },
  },
]
