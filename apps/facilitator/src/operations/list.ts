import { type Filter, type Listed } from './settlements'
import { ageOf, columns, inOneLine, moneyOf, shortened, timeOf } from './words'

type Column = readonly [heading: string, word: (settlement: Listed) => string]

const id: Column = ['ID', (one) => one.id.toString()]
const network: Column = ['NETWORK', (one) => inOneLine(one.network)]
const amount: Column = ['AMOUNT', moneyOf]
const payer: Column = ['PAYER', (one) => shortened(inOneLine(one.payer))]
const transaction: Column = ['TRANSACTION', (one) => orNone(one.transactionHash, shortened)]

/** What an operator wants to know of what is to be ended. */
const openColumns: readonly Column[] = [
  id,
  network,
  ['STATE', (one) => one.state],
  ['AGE', (one) => ageOf(one.ageSeconds)],
  amount,
  payer,
  ['SIGNER', (one) => orNone(one.signer, shortened)],
  ['NONCE', (one) => orNone(one.nonce, String)],
  transaction,
  ['SENT', (one) => one.attempts.toString()],
  ['PROBLEM', (one) => orNone(one.problem, inOneLine)],
]

/** And of what nobody can end well any more: since when, who is to be told, and why. */
const reversedColumns: readonly Column[] = [
  id,
  network,
  ['REVERSED', (one) => timeOf(one.updatedAt)],
  amount,
  payer,
  ['CLIENT', (one) => one.clientId],
  transaction,
  ['REASON', (one) => orNone(one.errorReason, inOneLine)],
]

const orNone = <T>(value: T | null, word: (value: T) => string) => (value === null ? '-' : word(value))

/** A line for each settlement, in the order given, and then how many more there are. */
export function listText(found: readonly Listed[], total: number, filter: Filter): string {
  if (total === 0) return `${nothing(filter)}\n`
  const more = total - found.length
  const rest = more > 0 ? `and ${more} more; --limit ${total} shows all\n` : ''
  const table = filter.state === 'reversed-for-good' ? reversedColumns : openColumns
  const lines = found.map((one) => table.map(([, word]) => word(one)))
  return columns([table.map(([heading]) => heading), ...lines]) + rest
}

function nothing({ network, state, olderThanSeconds }: Filter): string {
  const isForGood = state === 'reversed-for-good'
  const words = [
    ...(state === undefined || isForGood ? [] : [`is ${state}`]),
    ...(network === undefined ? [] : [`is on ${JSON.stringify(network)}`]),
    ...(olderThanSeconds > 0 ? [`is older than ${olderThanSeconds} s`] : []),
  ]
  const what = isForGood ? 'nothing was reversed for good' : 'nothing is open'
  return words.length > 0 ? `${what} that ${words.join(' and ')}` : what
}
