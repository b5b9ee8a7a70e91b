import { type ListedSettlement } from '../settlements/listed-settlement'
import { type Filter } from '../settlements/operator-settlement-store'
import { ageOf, columns, inOneLine, moneyOf, shortened, timeOf } from './format'

type Column = readonly [heading: string, format: (settlement: ListedSettlement) => string]

const id: Column = ['ID', (one) => one.id.toString()]
const network: Column = ['NETWORK', (one) => inOneLine(one.network)]
const amount: Column = ['AMOUNT', moneyOf]
const payer: Column = ['PAYER', (one) => shortened(inOneLine(one.payer))]
const transaction: Column = ['TRANSACTION', (one) => orNone(one.transactionHash, shortened)]

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
  ['PROBLEM', (one) => orNone(one.lastError, inOneLine)],
]

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

const orNone = <T>(value: T | null, format: (value: T) => string) => (value === null ? '-' : format(value))

export function listText(found: readonly ListedSettlement[], total: number, filter: Filter): string {
  if (total === 0) return `${emptyText(filter)}\n`
  const more = total - found.length
  const rest = more > 0 ? `and ${more} more; --limit ${total} shows all\n` : ''
  const table = filter.state === 'reversed-final' ? reversedColumns : openColumns
  const lines = found.map((one) => table.map(([, format]) => format(one)))
  return columns([table.map(([heading]) => heading), ...lines]) + rest
}

function emptyText({ network, state, olderThanSeconds }: Filter): string {
  const isForGood = state === 'reversed-final'
  const words = [
    ...(state === undefined || isForGood ? [] : [`is ${state}`]),
    ...(network === undefined ? [] : [`is on ${JSON.stringify(network)}`]),
    ...(olderThanSeconds > 0 ? [`is older than ${olderThanSeconds} s`] : []),
  ]
  const what = isForGood ? 'nothing was reversed for good' : 'nothing is open'
  return words.length > 0 ? `${what} that ${words.join(' and ')}` : what
}
