import { NEXT_STEPS_RUNBOOK, nextStepOf, nextStepTexts } from '../settlements/next-step'
import {
  type FeeAllocation,
  type SentTransaction,
  type SettlementDetail,
  type Version,
} from '../settlements/settlement-detail'
import { ageOf, columns, inOneLine, moneyOf, timeOf } from './format'

type Fact = readonly [name: string, value: string]

export function showText(settlement: SettlementDetail): string {
  const facts = [...factsOf(settlement), ...transactionFactsOf(settlement.transaction)]
  const lines = columns(facts.map(([name, value]) => [`  ${name}`, value]))
  const step = nextStepOf(settlement)
  return `Settlement ${settlement.id}: ${settlement.state}\n${lines}\nNext: ${nextStepTexts[step]} (${step} in ${NEXT_STEPS_RUNBOOK})\n`
}

function factsOf(settlement: SettlementDetail): Fact[] {
  const { client, errorReason, lastError, settledAt, successReportedAt, retryRequestedAt, transactionHash } =
    settlement
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
    ...optional('success reported', successReportedAt && timeOf(successReportedAt)),
    ...optional('reason', errorReason),
    ...optional('problem', lastError && inOneLine(lastError)),
    ...optional('retry requested', retryRequestedAt && timeOf(retryRequestedAt)),
    ['failed attempts', failedAttemptsOf(settlement)],
    ['fee', `${settlement.fee}, its share so far, in the smallest native unit`],
    ...settlement.feeAllocations.map(chargeFactOf),
    ...optional('transaction hash', transactionHash),
    ...optional('block', settlement.blockNumber?.toString()),
  ]
}

/** Only mined attempts cost a fee. */
function failedAttemptsOf({ attempts, feeAllocations }: SettlementDetail): string {
  const mined = feeAllocations.filter(({ settledIt }) => !settledIt).length
  return `${Math.max(attempts, mined)}${mined > 0 ? `, ${mined} mined` : ''}`
}

const chargeFactOf = ({ hash, blockNumber, fee, share, settledIt }: FeeAllocation): Fact => [
  settledIt ? '  settling it' : '  failed attempt',
  `${share} of the ${fee ?? 'unknown'} for ${hash}, in block ${blockNumber ?? 'unknown'}`,
]

function transactionFactsOf(transaction: SentTransaction | null): Fact[] {
  if (!transaction) return [['transaction', 'none in flight']]
  const { signer, nonce, state, payments, acceptedAt, blockNumber, versions } = transaction
  const others = payments > 1 ? `, shared with ${payments - 1} more` : ''
  return [
    ['transaction', `${state}${others}`],
    ['  signer', nonce === null ? `the payer; tracked by ${signer}` : signer],
    ...optional('  nonce', nonce?.toString()),
    ['  accepted', acceptedAt ? timeOf(acceptedAt) : 'by no node yet, in its newest version'],
    ...optional('  block', blockNumber?.toString()),
    ...versions.map((version, at): Fact => [
      `  version ${at + 1}`,
      `${version.hash}, signed ${timeOf(version.createdAt)}${statusOf(version, transaction)}`,
    ]),
  ]
}

function statusOf({ hash, fee }: Version, { hash: current, state, nonce }: SentTransaction): string {
  if (hash !== current || state === 'superseded') return ''
  if (state === 'signed') return ', the newest'
  return nonce === null ? ', mined, its fee paid by the payer' : `, mined, for a fee of ${fee ?? 'unknown'}`
}

const optional = (name: string, value: string | null | undefined): Fact[] => (value ? [[name, value]] : [])
