import { type UsageRecord } from '@tollgate/wallet'
import { type Command } from 'commander'
import { table, time } from '../output/table'
import { readPages, type PagingOptions } from '../pages'
import { type Run } from '../run-command'
import { describe } from './help'

/** Options for the newest records of a list. */
export const withPaging = (command: Command): Command =>
  command
    .option('--limit <number>', 'how many, the newest first (default: 20)')
    .option('--before <id>', 'only those older than this one')
    .option('--all', 'all of them')

export const historyCommand = (run: Run): Command =>
  withPaging(
    describe(
      'history',
      'List the calls of the wallet, the newest first',
      'tollgate history --limit 50',
      'tollgate history --all --json | jq -r .data[].rpc_method | sort | uniq -c',
    ),
  ).action(
    run<PagingOptions>(async ({ options, open, output }) => {
      const { tollgate } = await open()
      const page = await readPages((query) => tollgate.history(query), options)
      output.result(page, (colors) => table(colors, CALL_HEAD, page.data.map(callRow), 'No calls.'))
      output.note(`${page.data.length} of ${page.total}`)
    }),
  )

export const CALL_HEAD = ['Id', 'Time (UTC)', 'Chain', 'Call', 'Credits', 'Outcome', 'Status', 'ms', 'Key']

export const callRow = (record: UsageRecord) => [
  record.id,
  time(record.created_at),
  record.chain_id,
  record.rpc_method ?? record.resource ?? record.transport,
  record.credits,
  record.outcome,
  record.status_code,
  record.latency_ms,
  record.key_label,
]
