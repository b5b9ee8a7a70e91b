import { type Findings, type Found } from './report'

const HEAD = `# Reliability

This page is written by \`pnpm faults\`. The command brings up both services as processes of their own, on two chains (anvil, and
the Cosmos development chain of \`packages/devnet\`), a Postgres and a Redis of their own, breaks them, and counts afterwards.
Nothing here is estimated; a row stands here only if everything that was checked held each time. Scenarios whose names begin
with \`cosmos-\` are played on the Cosmos chain, all others on the EVM chain.

## What is guaranteed

- **A payment is settled once.** However often it is asked for, by however many callers, on however many replicas, and
  wherever a process dies: the chain has one transfer for it, or none.
- **Success is handed out once.** One caller is told that a payment succeeded, and whoever comes again with its
  \`Idempotency-Key\` is told the same. Without such a key, an answer that is lost on the way cannot be had again: ask with one.
- **Every payment has its end.** What was claimed is carried out, or refused with a reason, by whichever process lives.
  While nobody knows, the answer is \`settlement_pending\` (the facilitator) or 503 with \`Retry-After\` (the gateway), and never
  a new demand to pay.
- **What was sent and failed cannot be settled any more.** A payment that was sent is called failed only when its
  authorization has lapsed, was cancelled, or was used for something else. One that was refused before anything was sent has
  moved no money, and may be asked for anew.
- **Credits follow the money.** What the chain shows as paid to a plan is credited once; what is not paid is not credited.
- **A signer's nonces stay in a row.** Of all replicas one at a time sends from a signer, and only what it has stored before.
  When its owner dies another replica takes the signer over within ten seconds.
- **A stalled process gives nothing away.** A process that is stopped while another takes its work over answers no call that was
  refunded, sends no second transaction and reports no second success when it goes on.
- **A reorg is not overlooked.** A settlement whose block is dropped is marked \`reversed\` and sent again; it stays reversed only
  if its authorization was used for something else meanwhile. The blocks of a Cosmos chain are final.
- **What is borne for payers is for their payments.** On the Cosmos chain each allowance is used up by the payment it was
  granted for, none is left, and what the chain took from the granter is what the books say, to the unit.

What is not guaranteed: that a payment is settled while its chain or Postgres is away. Then nothing is known, it is said so,
and everything goes on when they are back.

## What was broken, and what came of it
`

const FOOT = `Times are how often a fault was made, payments how many were under way then, all times together. Recovery is counted from
the fault until every payment has its end and everybody has been told, on a machine that runs services, stores, chain and
clients all at once.

## Run it again

\`\`\`sh
pnpm install && pnpm build
pnpm faults                             # all of it; --help tells how many rounds each scenario has
pnpm faults crash-points --rounds 5     # one scenario, with so many rounds
pnpm faults crash-points/stored         # one part of it
pnpm faults --help                      # what each scenario does, and what it checks
\`\`\`

It needs a \`redis-server\` on the PATH for the faults of Redis; all else is installed with the packages. Only the rows of what
was run are written. If anything did not hold the command says what, exits with 1, and leaves the rows of that scenario as
they were.
`

/** The whole of `reliability.md`. */
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
  { where, fault, times, payments, outcome, counted, worstSeconds, date }: Found,
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

/** A table as Prettier leaves it. */
function table(head: string[], rows: string[][]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')))
  const widths = head.map((name, i) => Math.max(3, name.length, ...escaped.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |\n`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...escaped.map(line)].join('')
}
