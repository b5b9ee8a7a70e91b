import { expectationOf } from './expectation'
import { type Charge, type SentTransaction, type Shown, type Version } from './shown'
import { ageOf, columns, inOneLine, moneyOf, timeOf, wrapped } from './words'

const WIDTH = 100

type Fact = readonly [name: string, value: string]

/** All that may be known of one settlement, a fact a line, and what to expect of it. */
export function showText(settlement: Shown): string {
  const facts = [...factsOf(settlement), ...transactionFactsOf(settlement.transaction)]
  const lines = columns(facts.map(([name, value]) => [`  ${name}`, value]))
  return `Settlement ${settlement.id}: ${settlement.state}\n${lines}\n${wrapped(expectationOf(settlement), WIDTH)}\n`
}

function factsOf(settlement: Shown): Fact[] {
  const { client, errorReason, problem, settledAt, handedOutAt, retryAt, transactionHash } = settlement
  return [
    ['network', inOneLine(settlement.network)],
    ['amount', `${moneyOf(settlement)} (${settlement.amount} of ${settlement.asset})`],
    ['payer', inOneLine(settlement.payer)],
    ['pay to', inOneLine(settlement.payTo)],
    ['payment nonce', inOneLine(settlement.paymentNonce)],
    [
      'client',
      `${client.id} ${JSON.stringify(inOneLine(client.title))}${client.isDeleted ? ', deleted' : ''}`,
    ],
    ['claimed', `${timeOf(settlement.createdAt)}, ${ageOf(settlement.ageSeconds)} ago`],
    ['last change', timeOf(settlement.updatedAt)],
    ...optional('settled', settledAt && timeOf(settledAt)),
    ...optional('handed out', handedOutAt && timeOf(handedOutAt)),
    ...optional('reason', errorReason),
    ...optional('problem', problem && inOneLine(problem)),
    ...optional('retry asked', retryAt && timeOf(retryAt)),
    ['sent in vain', inVainOf(settlement)],
    ['fee', `${settlement.fee}, its share so far, in the smallest native unit`],
    ...settlement.charges.map(chargeFactOf),
    ...optional('transaction hash', transactionHash),
    ...optional('block', settlement.blockNumber?.toString()),
  ]
}

/** What came to nothing need not have cost anything: only what is mined does. */
function inVainOf({ attempts, charges }: Shown): string {
  const mined = charges.filter(({ settledIt }) => !settledIt).length
  const sent = Math.max(attempts, mined)
  return `${sent === 1 ? 'once' : `${sent} times`}${mined > 0 ? `, ${mined} mined` : ''}`
}

const chargeFactOf = ({ hash, blockNumber, fee, share, settledIt }: Charge): Fact => [
  settledIt ? '  to settle it' : '  in vain',
  `${share} of the ${fee ?? 'unknown'} for ${hash}, in block ${blockNumber ?? 'unknown'}`,
]

function transactionFactsOf(transaction: SentTransaction | null): Fact[] {
  if (!transaction) return [['transaction', 'none on its way']]
  const { signer, nonce, state, payments, broadcastAt, blockNumber, versions } = transaction
  const others = payments > 1 ? `, shared with ${payments - 1} more` : ''
  return [
    ['transaction', `${state}${others}`],
    ['  signer', nonce === null ? `the payer; seen through by ${signer}` : signer],
    ...optional('  nonce', nonce?.toString()),
    ['  taken by a node', broadcastAt ? timeOf(broadcastAt) : 'not yet, in its newest version'],
    ...optional('  block', blockNumber?.toString()),
    ...versions.map((version, at): Fact => [
      `  version ${at + 1}`,
      `${version.hash}, signed ${timeOf(version.createdAt)}${fateOf(version, transaction)}`,
    ]),
  ]
}

function fateOf({ hash, fee }: Version, { hash: current, state, nonce }: SentTransaction): string {
  if (hash !== current || state === 'lost') return ''
  if (state === 'signed') return ', the newest'
  return nonce === null ? ', mined, its fee paid by the payer' : `, mined, for a fee of ${fee ?? 'unknown'}`
}

const optional = (name: string, value: string | null | undefined): Fact[] => (value ? [[name, value]] : [])
