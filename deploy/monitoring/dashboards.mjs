// Writes the dashboards beside it: node deploy/monitoring/dashboards.mjs
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const RATE = '$__rate_interval'
const own = (job) => `job=~"(.+/)?${job}"`
/** Of one job only: a pod that a second job scrapes too would count twice. */
const ofJob = (job, expr) =>
  expr.replace(
    /\b(?:tollgate|nodejs|process)_\w+(?:\{([^}]*)\})?/g,
    (series, labels = '') => `${series.split('{')[0]}{${[own(job), labels].filter(Boolean).join()}}`,
  )
const rate = (metric, by = '', labels = '') =>
  `sum${by && ` by (${by})`} (rate(${metric}${labels && `{${labels}}`}[${RATE}]))`
const quantile = (q, metric, by = '', labels = '') =>
  `histogram_quantile(${q}, sum by (${by && `${by}, `}le) (rate(${metric}_bucket${labels && `{${labels}}`}[${RATE}])))`
const percentiles = (metric, labels = '') =>
  [0.5, 0.95, 0.99].map((q) => [quantile(q, metric, '', labels), `p${q * 100}`])

/** The rows of what both services export. */
const traffic = (more = []) => [
  'Traffic',
  [
    [
      'Requests by status',
      'reqps',
      [[rate('tollgate_http_request_duration_seconds_count', 'status'), '{{status}}']],
    ],
    [
      'Requests in flight',
      'short',
      [[`sum by (instance) (tollgate_http_requests_in_flight)`, '{{instance}}']],
    ],
    ...more,
  ],
]
const resources = [
  'Resources',
  [
    [
      'Connections to Postgres',
      'short',
      [
        [`sum by (state) (tollgate_postgres_connections)`, '{{state}}'],
        [`sum(tollgate_postgres_waiting_queries)`, 'waiting queries'],
        [`sum(tollgate_postgres_connections_max)`, 'maximum'],
      ],
    ],
    ['Redis commands', 's', percentiles('tollgate_redis_command_duration_seconds')],
    [
      'Redis: 1 connected, 0 not',
      'short',
      [
        [`min(tollgate_redis_up)`, 'connected'],
        [rate('tollgate_redis_command_errors_total'), 'errors per second'],
      ],
    ],
    [
      'Event loop delay, p99',
      's',
      [[`max by (instance) (nodejs_eventloop_lag_p99_seconds)`, '{{instance}}']],
    ],
    ['CPU', 'short', [[`sum by (instance) (rate(process_cpu_seconds_total[${RATE}]))`, '{{instance}}']]],
    [
      'Memory',
      'bytes',
      [
        [`max by (instance) (process_resident_memory_bytes)`, 'resident {{instance}}'],
        [`max by (instance) (nodejs_heap_size_used_bytes)`, 'heap {{instance}}'],
      ],
    ],
    [
      'Webhooks',
      'short',
      [
        [rate('tollgate_webhook_deliveries_total', 'outcome'), '{{outcome}} per second'],
        [`max(tollgate_webhook_deliveries_pending)`, 'pending'],
      ],
    ],
    [
      'Rows deleted by the retention job',
      'short',
      [[`sum by (task) (increase(tollgate_retention_rows_total[1h]))`, '{{task}}']],
    ],
  ],
]

const gateway = [
  traffic([
    ['Calls by chain', 'reqps', [[rate('tollgate_calls_total', 'chain'), '{{chain}}']]],
    [
      'Calls by class of method',
      'reqps',
      [[rate('tollgate_calls_total', 'method_class'), '{{method_class}}']],
    ],
  ]),
  [
    'Errors',
    [
      [
        'Calls by outcome, without answered',
        'reqps',
        [[rate('tollgate_calls_total', 'outcome', 'outcome!="answered"'), '{{outcome}}']],
      ],
      ['Failed calls of a chain', 'percentunit', [['tollgate:calls_failed:ratio_rate5m', '{{chain}}']]],
      [
        'Answers with 5xx',
        'percentunit',
        [[`tollgate:http_errors:ratio_rate5m{${own('gateway')}}`, '{{job}}']],
      ],
      [
        'Ledger: violated accounts and overdue',
        'short',
        [
          ['max by (invariant) (tollgate_ledger_violated_accounts)', '{{invariant}}'],
          ['max by (kind) (tollgate_ledger_overdue)', 'overdue {{kind}}'],
        ],
      ],
    ],
  ],
  [
    'Latency',
    [
      [
        'Calls at plain URLs and /rpc',
        's',
        percentiles('tollgate_http_request_duration_seconds', 'route=~"/rpc|/v1/.*"'),
      ],
      ['p95 by upstream', 's', [['tollgate:upstream_duration_seconds:p95_rate5m', '{{provider}} {{chain}}']]],
      [
        'Ledger statements, p95',
        's',
        [['tollgate:ledger_statement_duration_seconds:p95_rate5m', '{{batch}}']],
      ],
      [
        'Wait for a ledger batch, p95',
        's',
        [[quantile(0.95, 'tollgate_ledger_batch_wait_seconds', 'batch'), '{{batch}}']],
      ],
      [
        'Calls in a ledger batch, average',
        'short',
        [
          [
            `${rate('tollgate_ledger_batch_size_sum', 'batch')} / ${rate('tollgate_ledger_batch_size_count', 'batch')}`,
            '{{batch}}',
          ],
        ],
      ],
      ['Waiting for a ledger batch', 'short', [['sum by (batch) (tollgate_ledger_waiting)', '{{batch}}']]],
    ],
  ],
  [
    'Money',
    [
      [
        'Credits',
        'short',
        [
          [rate('tollgate_credits_sold_total'), 'sold per second'],
          [rate('tollgate_credits_spent_total'), 'spent per second'],
          [rate('tollgate_credits_refunded_total'), 'refunded per second'],
        ],
      ],
      [
        'Answers with 402, by reason',
        'reqps',
        [[rate('tollgate_payment_required_total', 'reason'), '{{reason}}']],
      ],
      ['Reversed payments of 24 hours', 'short', [['max(tollgate_payments_reversed)', 'reversed']]],
      ['Calls counted for /usage', 'reqps', [[rate('tollgate_usage_calls_counted_total'), 'counted']]],
    ],
  ],
  [
    'Payments by state and age',
    [
      ['Open payments', 'short', [['max by (state) (tollgate_payments_open)', '{{state}}']]],
      ['Age of the oldest', 's', [['max by (state) (tollgate_payments_oldest_age_seconds)', '{{state}}']]],
      [
        'Completed payments',
        'short',
        [
          [
            `sum by (outcome, reason) (increase(tollgate_payments_completed_total[${RATE}]))`,
            '{{outcome}} {{reason}}',
          ],
        ],
      ],
      ['Time to credits', 's', percentiles('tollgate_payment_duration_seconds', 'outcome="credited"')],
    ],
  ],
  [
    'Settlement',
    [
      [
        'Calls of the facilitator',
        'reqps',
        [
          [
            rate('tollgate_facilitator_request_duration_seconds_count', 'operation, outcome'),
            '{{operation}} {{outcome}}',
          ],
        ],
      ],
      [
        'Settle requests',
        's',
        percentiles('tollgate_facilitator_request_duration_seconds', 'operation="settle"'),
      ],
      [
        'Since the last reversal check',
        's',
        [['time() - max(tollgate_reversal_check_timestamp_seconds)', 'seconds']],
      ],
    ],
  ],
  [
    'Upstreams',
    [
      [
        'Answers by provider',
        'reqps',
        [[rate('tollgate_upstream_duration_seconds_count', 'chain, provider'), '{{provider}} {{chain}}']],
      ],
      [
        'Errors by kind',
        'reqps',
        [[rate('tollgate_upstream_errors_total', 'provider, kind'), '{{provider}} {{kind}}']],
      ],
      [
        'Circuits: 0 closed, 1 half open, 2 open',
        'short',
        [
          [
            'max by (chain, provider, endpoint) (tollgate_upstream_circuit_state)',
            '{{provider}} {{endpoint}} {{chain}}',
          ],
        ],
      ],
    ],
  ],
  resources,
]

const facilitator = [
  traffic([
    [
      'Requests to verify and settle',
      'reqps',
      [[rate('tollgate_payment_requests_total', 'operation, outcome'), '{{operation}} {{outcome}}']],
    ],
  ]),
  [
    'Errors',
    [
      [
        'Refused payments by reason',
        'reqps',
        [[rate('tollgate_payment_requests_total', 'reason', 'outcome="refused"'), '{{reason}}']],
      ],
      ['Failed settlements', 'percentunit', [['tollgate:settlements_failed:ratio_rate10m', '{{network}}']]],
      [
        'Answers with 5xx',
        'percentunit',
        [[`tollgate:http_errors:ratio_rate5m{${own('facilitator')}}`, '{{job}}']],
      ],
      ['Suspended assets', 'short', [['max by (network) (tollgate_assets_suspended)', '{{network}}']]],
      [
        'Settlements reversed by reorgs',
        'short',
        [['sum by (network) (increase(tollgate_settlements_reversed_total[1h]))', '{{network}}']],
      ],
    ],
  ],
  [
    'Latency',
    [
      ['Verify', 's', percentiles('tollgate_payment_request_duration_seconds', 'operation="verify"')],
      ['Settle', 's', percentiles('tollgate_payment_request_duration_seconds', 'operation="settle"')],
      [
        'Claim to settled, p95',
        's',
        [
          [
            quantile(0.95, 'tollgate_settlement_duration_seconds', 'network', 'outcome="settled"'),
            '{{network}}',
          ],
        ],
      ],
    ],
  ],
  [
    'Payments by state and age',
    [
      [
        'Open settlements',
        'short',
        [['max by (network, state) (tollgate_settlements_open)', '{{state}} {{network}}']],
      ],
      [
        'Age of the oldest',
        's',
        [['max by (network, state) (tollgate_settlements_oldest_age_seconds)', '{{state}} {{network}}']],
      ],
      [
        'Stuck settlements',
        'short',
        [['max by (network, state) (tollgate_settlements_stuck)', '{{state}} {{network}}']],
      ],
      [
        'Since they were read',
        's',
        [['time() - max(tollgate_settlement_stats_updated_timestamp_seconds)', 'seconds']],
      ],
    ],
  ],
  [
    'Settlement',
    [
      [
        'Completed settlements',
        'short',
        [
          [
            `sum by (network, outcome, reason) (increase(tollgate_settlements_completed_total[${RATE}]))`,
            '{{outcome}} {{reason}} {{network}}',
          ],
        ],
      ],
      [
        'Payments in a transaction, average',
        'short',
        [
          [
            `${rate('tollgate_batch_size_sum', 'network')} / ${rate('tollgate_batch_size_count', 'network')}`,
            '{{network}}',
          ],
        ],
      ],
      [
        'Transactions replaced with higher fees',
        'short',
        [['sum by (network) (increase(tollgate_transactions_replaced_total[15m]))', '{{network}}']],
      ],
    ],
  ],
  [
    'Signers',
    [
      [
        'Balance, in parts of the threshold',
        'short',
        [
          [
            'min by (network, signer) (tollgate_signer_balance) / max by (network, signer) (tollgate_signer_balance_threshold)',
            '{{network}} {{signer}}',
          ],
        ],
      ],
      [
        'Pending transactions (maximum 16)',
        'short',
        [['max by (network, signer) (tollgate_signer_pending_transactions)', '{{network}} {{signer}}']],
      ],
      [
        'Leaders',
        'short',
        [
          [
            'sum by (network, signer) (max by (network, signer, instance) (tollgate_signer_is_leader))',
            '{{network}} {{signer}}',
          ],
        ],
      ],
    ],
  ],
  resources,
]

const COLUMNS = 3
const [WIDTH, HEIGHT] = [24 / COLUMNS, 8]
const datasource = { type: 'prometheus', uid: '${datasource}' }

function panelsOf(service, rows) {
  let [id, y] = [0, 0]
  return rows.flatMap(([title, panels]) => {
    const row = {
      id: ++id,
      type: 'row',
      title,
      collapsed: false,
      gridPos: { x: 0, y: y++, w: 24, h: 1 },
      panels: [],
    }
    const drawn = panels.map(([name, unit, queries], index) => ({
      id: ++id,
      type: 'timeseries',
      title: name,
      datasource,
      gridPos: {
        x: (index % COLUMNS) * WIDTH,
        y: y + Math.floor(index / COLUMNS) * HEIGHT,
        w: WIDTH,
        h: HEIGHT,
      },
      fieldConfig: {
        defaults: {
          unit,
          min: 0,
          custom: { drawStyle: 'line', lineWidth: 1, fillOpacity: 10, showPoints: 'never' },
        },
        overrides: [],
      },
      options: {
        legend: { displayMode: 'list', placement: 'bottom' },
        tooltip: { mode: 'multi', sort: 'desc' },
      },
      targets: queries.map(([expr, legendFormat], target) => ({
        refId: String.fromCharCode(65 + target),
        datasource,
        expr: ofJob(service, expr),
        legendFormat,
        exemplar: expr.startsWith('histogram_quantile'),
      })),
    }))
    y += Math.ceil(panels.length / COLUMNS) * HEIGHT
    return [row, ...drawn]
  })
}

const dashboardOf = (service, rows) => ({
  uid: `tollgate-${service}`,
  title: `Tollgate ${service}`,
  tags: ['tollgate'],
  schemaVersion: 39,
  version: 1,
  editable: true,
  graphTooltip: 1,
  refresh: '30s',
  time: { from: 'now-3h', to: 'now' },
  timezone: 'browser',
  templating: {
    list: [
      {
        name: 'datasource',
        label: 'Data source',
        type: 'datasource',
        query: 'prometheus',
        current: {},
        hide: 0,
      },
    ],
  },
  annotations: { list: [] },
  panels: panelsOf(service, rows),
})

export const dashboards = {
  gateway: dashboardOf('gateway', gateway),
  facilitator: dashboardOf('facilitator', facilitator),
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [service, dashboard] of Object.entries(dashboards))
    writeFileSync(
      new URL(`${service}.dashboard.json`, import.meta.url),
      `${JSON.stringify(dashboard, null, 2)}\n`,
    )
