import { expectationOf } from './expectation'
import { type SentTransaction, type Shown } from './settlements'
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
    ['sent in vain', settlement.attempts === 1 ? 'once' : `${settlement.attempts} times`],
    ['fee', `${settlement.fee}, its share so far, in the smallest native unit`],
    ...optional('transaction hash', transactionHash),
    ...optional('block', settlement.blockNumber?.toString()),
  ]
}

function transactionFactsOf(transaction: SentTransaction | null): Fact[] {
  if (!transaction) return [['transaction', 'none on its way']]
  const { signer, nonce, state, payments, broadcastAt, blockNumber, fee, versions } = transaction
  const others = payments > 1 ? `, shared with ${payments - 1} more` : ''
  return [
    ['transaction', `${state}${others}`],
    ['  signer', nonce === null ? `the payer; seen through by ${signer}` : signer],
    ...optional('  nonce', nonce?.toString()),
    ['  taken by a node', broadcastAt ? timeOf(broadcastAt) : 'not yet, in its newest version'],
    ...optional('  block', blockNumber?.toString()),
    ...optional('  fee', fee),
    ...versions.map(({ hash, createdAt }, at): Fact => [
      `  version ${at + 1}`,
      `${hash}, signed ${timeOf(createdAt)}${hash === transaction.hash ? currentWords[state] : ''}`,
    ]),
  ]
}

const currentWords = { signed: ', the newest', mined: ', mined', final: ', mined', lost: '' }

const optional = (name: string, value: string | null | undefined): Fact[] => (value ? [[name, value]] : [])
