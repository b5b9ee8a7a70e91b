import { type CommandIo, parseOptions, UsageError } from '@tollgate/service'
import { createDisputes, type Decision, type Dispute } from '../payments/disputes'
import { PAYMENTS_HELP } from './cli-help'
import { type Command, commandName, databaseUrl, withDatabase } from './command'

type Disputes = ReturnType<typeof createDisputes>
type Work = (disputes: Disputes, io: CommandIo) => Promise<number>

export const paymentsCommand: Command = {
  help: PAYMENTS_HELP,
  async run(args, io) {
    const work = parse(args)
    return withDatabase({ url: databaseUrl(io) }, io, ({ pool }) => work(createDisputes(pool), io))
  },
}

function parse(args: string[]): Work {
  const name = commandName(args, 'payments')
  const more = args.slice(1)
  if (name === 'disputed' || name === 'spent') return parseList(name, more)
  if (name === 'credit') return parseCredit(more)
  if (name === 'close') return parseClose(more)
  throw new UsageError(`unknown command "payments ${name}"`)
}

const PAGE_SIZE = 1_000

function parseList(name: 'disputed' | 'spent', args: string[]): Work {
  const [unexpected] = parseOptions(args, {}).positionals
  if (unexpected !== undefined) throw new UsageError(`unexpected "${unexpected}"`)
  return async ({ list, listSpent }, { out }) => {
    const pageAfter = name === 'spent' ? listSpent : list
    let page = await pageAfter(PAGE_SIZE)
    if (page.length === 0) out(`no payment is ${name}\n`)
    while (page.length > 0) {
      out(page.map(lineOf).join(''))
      page = await pageAfter(PAGE_SIZE, page.at(-1))
    }
    return 0
  }
}

function parseClose(args: string[]): Work {
  const [id, ...more] = parseOptions(args, {}).positionals
  if (more.length > 0) throw new UsageError('payments close requires the id of one payment')
  return resolve(uuidOf(id, 'close'), 'close')
}

const transactionHash = /^(?:0x)?[0-9a-fA-F]{64}$/

function parseCredit(args: string[]): Work {
  const { values, positionals } = parseOptions(args, { 'shared-transaction': { type: 'boolean' } })
  const isShared = values['shared-transaction'] === true
  const [given, transaction, ...more] = positionals
  if (more.length > 0) throw new UsageError('payments credit requires the id of one payment')
  const id = uuidOf(given, 'credit')
  if (transaction === undefined) {
    if (isShared) throw new UsageError('--shared-transaction requires a transaction')
    return resolve(id, 'credit')
  }
  if (!transactionHash.test(transaction))
    throw new UsageError(`${JSON.stringify(transaction)} is not the hash of a transaction`)
  return creditSpent({ id, transaction, isShared })
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

function uuidOf(text: string | undefined, name: Decision): string {
  if (text !== undefined && uuid.test(text)) return text
  throw new UsageError(`payments ${name} requires the id of one payment`)
}

const resolvedAs: Record<Decision, string> = { credit: 'credited', close: 'closed without credits' }

const resolve =
  (id: string, decision: Decision): Work =>
  async (disputes, { out, err }) => {
    const resolved = await disputes.resolve(id, decision)
    if (resolved) out(`${resolvedAs[decision]}: ${lineOf(resolved)}`)
    else err(`gateway: no disputed payment has the id ${id}\n`)
    return resolved ? 0 : 1
  }

type HashForm = {
  pattern: RegExp
  text: string
  /** As the facilitator reports it. */
  canonical: (hash: string) => string
  isOnePayment: boolean
}
const hashForms: Readonly<Record<string, HashForm>> = {
  evm: {
    pattern: /^0x[0-9a-fA-F]{64}$/,
    text: '0x and 64 hexadecimal digits',
    canonical: (hash) => hash.toLowerCase(),
    isOnePayment: false,
  },
  cosmos: {
    pattern: /^[0-9a-fA-F]{64}$/,
    text: '64 hexadecimal digits without 0x',
    canonical: (hash) => hash.toUpperCase(),
    isOnePayment: true,
  },
}

type SpentPayment = { id: string; transaction: string; isShared: boolean }

const creditSpent =
  (payment: SpentPayment): Work =>
  async (disputes, { out, err }) => {
    const credited = await tryCreditSpent(payment, disputes)
    if (typeof credited === 'string') {
      err(`gateway: ${credited}\n`)
      return 1
    }
    out(`${credited.outcome}: ${lineOf(credited.payment)}`)
    return 0
  }

/** @returns why it is refused, or what was done */
async function tryCreditSpent({ id, transaction, isShared }: SpentPayment, disputes: Disputes) {
  const ecosystem = await disputes.findEcosystem(id)
  const form = ecosystem === undefined ? undefined : hashForms[ecosystem]
  if (!form) return `no spent payment has the id ${id}`
  if (!form.pattern.test(transaction))
    return `the hash of a transaction on the payment's network (${ecosystem}) is ${form.text}`
  if (isShared && form.isOnePayment)
    return `a transaction on the payment's network (${ecosystem}) is one payment: it cannot be shared`

  const credited = await disputes.creditSpent(id, form.canonical(transaction), isShared)
  if (credited.outcome === 'refused')
    return `no spent payment has the id ${id}, or another payment of its authorization is credited or open`
  if (credited.outcome === 'named')
    return form.isOnePayment
      ? `payment ${credited.by} of the same payer has this transaction, which is one payment`
      : `payment ${credited.by} of the same payer has this transaction; if the transaction moved the money of each, by the authorization of each, repeat with --shared-transaction`
  return credited
}

const lineOf = ({ id, wallet, planId, network, amount, credits, transaction, updatedAt }: Dispute) =>
  `${id}  ${updatedAt.toISOString()}  ${wallet}  plan ${planId}  ${amount} on ${network}  ${credits} credits  ${transaction ?? '-'}\n`
