import { type Row } from './scenario'

type Finding = Row & { date: string }

/** By scenario, in the order of `--help`. */
export type Findings = Record<string, Finding[]>

const HEAD = `# Reliability

\`pnpm faults\` writes this page. It starts both services as processes on two chains (anvil, and our Cosmos development chain) with their
own Postgres and Redis, injects faults, and counts afterwards. A row stands here only if every check held each time. \`cosmos-\`
scenarios run on the Cosmos chain, all others on the EVM chain.

## Guarantees

- **A payment is settled once.** For any number of requests, callers and replicas, and a crash at any step, the chain has one transfer
  for it, or none.
- **Success is reported once**: to one caller, and to repeats with its \`Idempotency-Key\`. Without a key a lost answer cannot be
  requested again.
- **Every payment ends.** A claimed payment is settled, or refused with a reason, by any running process. Until then the answer is
  \`settlement_pending\` (facilitator) or 503 with \`Retry-After\` (gateway), never a new payment demand.
- **A failed payment that was broadcast cannot be settled any more**: its authorization expired, was cancelled, or was used for another
  transfer. A payment that was refused before a broadcast moved no money and may be requested again.
- **Credits follow the money.** A payment on chain to a plan is credited once; nothing else is credited.
- **A signer's nonces are consecutive.** One replica at a time sends for a signer, and only stored transactions. Another replica takes
  over within ten seconds.
- **A stalled process gives nothing away.** After SIGCONT it answers no refunded call, sends no second transaction and reports no second
  success.
- **A reorg is detected.** A settlement whose block is dropped is \`reversed\` and sent again; it is reversed-final only if its
  authorization was used for another transfer. The blocks of a Cosmos chain are final.
- **A rolling update fails no request.** Replicas that are replaced one after the other, and secrets that are rotated as
  [documented](operate/rotate.md), cost neither a request nor a payment.
- **A killed process fails only the requests that it held.** Without Redis only sign-in is refused. Calls and settlements continue within
  five seconds after Postgres accepts connections.
- **Allowances of honest payers pay for their payments only.** On the Cosmos chain each is used up by its payment, none remains, and the
  granter's cost on chain equals the database, to the unit. Payers that spend them otherwise cost a small part of the daily limit.

Not guaranteed: settlement while the chain or Postgres is unavailable. Callers get a pending answer, and payments continue afterwards.
Nor the right outcome where all nodes of a network show the same false events: they are believed ([ADR 26](adr/0026-transfer-mismatch.md)).

## Faults and outcomes
`

const FOOT = `Times counts the faults, payments those that were open then, in total. Recovery is the time from the fault until every payment has ended
and every caller has its answer, with services, stores, chain and clients on one machine.

## Run it again

\`\`\`sh
pnpm install && pnpm build
pnpm faults                             # all scenarios; --help has their rounds
pnpm faults crash-points --rounds 5     # one scenario, with five rounds
pnpm faults crash-points/stored         # one part of it
pnpm faults --help                      # each scenario and its checks
\`\`\`

\`rolling-restarts\`, \`roll-versions\`, \`rotations\`, \`replica-killed\`, \`postgres-restarted\`, \`redis-away\`,
\`pgbouncer-restarted\`, \`postgres-read-only\`, \`postgres-promoted\`, \`redis-promoted\` and \`restore\` run two gateways and
two facilitators behind nginx, and need it: \`apt-get install nginx-light libnginx-mod-stream\`. A request counts as failed if its
connection breaks or its answer is none of those that the contract has for it: the result, 402 to a request without a payment, and 503
\`PAYMENT_PENDING\` with \`Retry-After\` or \`settlement_pending\` while a payment is settled. \`roll-versions\` also needs the commit of the
version before, with \`--from\`.

The Redis faults need a \`redis-server\` on the PATH, \`pgbouncer-restarted\` a \`pgbouncer\`; everything else is installed with the packages. A run writes only its own rows. If a
check fails, the command names it, exits with 1, and keeps the earlier rows of that scenario.
`

export function renderReliability(findings: Findings): string {
  const rows = Object.entries(findings).flatMap(([name, found]) => found.map((row) => cellsOf(name, row)))
  const head = [
    'Scenario',
    'Where',
    'Fault',
    'Times',
    'Payments',
    'Outcome',
    'Counted',
    'Longest recovery',
    'Made',
  ]
  return [HEAD, table(head, rows), FOOT].join('\n')
}

const cellsOf = (
  scenario: string,
  { where, fault, times, payments, outcome, counted, worstSeconds, date }: Finding,
) => [
  `\`${scenario}\``,
  where,
  fault,
  String(times),
  String(payments),
  outcome,
  counted,
  worstSeconds === undefined ? '' : `${worstSeconds.toFixed(1)} s`,
  date,
]

function table(head: string[], rows: string[][]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')))
  const widths = head.map((name, i) => Math.max(3, name.length, ...escaped.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |\n`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...escaped.map(line)].join('')
}
