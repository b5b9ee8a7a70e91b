import { type Filter, type Open } from './settlements'
import { ageOf, columns, inOneLine, moneyOf, shortened } from './words'

const HEADINGS = [
  'ID',
  'NETWORK',
  'STATE',
  'AGE',
  'AMOUNT',
  'PAYER',
  'SIGNER',
  'NONCE',
  'TRANSACTION',
  'SENT',
  'PROBLEM',
]

/** A line for each open settlement, oldest first, and then how many more there are. */
export function listText(found: readonly Open[], total: number, filter: Filter): string {
  if (total === 0) return `nothing is open${narrowed(filter)}\n`
  const more = total - found.length
  const rest = more > 0 ? `and ${more} more; --limit ${total} shows all\n` : ''
  return columns([HEADINGS, ...found.map(wordsOf)]) + rest
}

const wordsOf = (open: Open): string[] => [
  open.id.toString(),
  inOneLine(open.network),
  open.state,
  ageOf(open.ageSeconds),
  moneyOf(open),
  shortened(inOneLine(open.payer)),
  open.signer === null ? '-' : shortened(open.signer),
  open.nonce?.toString() ?? '-',
  open.transactionHash === null ? '-' : shortened(open.transactionHash),
  open.attempts.toString(),
  open.problem === null ? '-' : inOneLine(open.problem),
]

function narrowed({ network, state, olderThanSeconds }: Filter): string {
  const words = [
    ...(state === undefined ? [] : [`is ${state}`]),
    ...(network === undefined ? [] : [`is on ${JSON.stringify(network)}`]),
    ...(olderThanSeconds > 0 ? [`is older than ${olderThanSeconds} s`] : []),
  ]
  return words.length > 0 ? ` that ${words.join(' and ')}` : ''
}
