import { isTollgateError, type Tollgate, type TollgateEvents } from '@tollgate/wallet'
import { AsyncLocalStorage } from 'node:async_hooks'
import { printable } from '../output/printable'
import { type AmountFormat } from './amounts'
import { failureOf, ToolError } from './failure'
import { paidOutput, sentOutput } from './tools/paid-output'
import { type ToolContext } from './tool'

type Paid = TollgateEvents['paid']
export type Payment = TollgateEvents['payment-required']

const HEARTBEAT_MS = 5_000

/** What a call has paid, and what it has sent without an outcome yet. */
export type CallPayments = { paid: readonly Paid[]; sent: readonly Payment[] }

type Call = { paid: Paid[]; sent: Payment[]; progress(message: string): void }

const MAX_RECIPIENT_CHARACTERS = 100

export type CallEvents = ReturnType<typeof createCallEvents>

/**
 * Attributes payments to the tool calls that make them, and reports their progress. A purchase of credits that several calls
 * wait for is attributed to one of them, and reported to all.
 */
export function createCallEvents(tollgate: Tollgate, format: AmountFormat) {
  const current = new AsyncLocalStorage<Call>()
  const running = new Set<Call>()

  const concerned = ({ url }: Payment): Iterable<Call> => {
    const call = current.getStore()
    return url.startsWith(`${tollgate.url}/`) ? running : call ? [call] : []
  }
  const report = (payment: Payment, message: string) => {
    for (const call of concerned(payment)) call.progress(message)
  }
  const amountOf = (payment: Payment) => format(payment.amount, payment)
  tollgate.on('payment-required', (payment) =>
    report(
      payment,
      `Paying ${amountOf(payment)} to ${printable(payment.payTo).slice(0, MAX_RECIPIENT_CHARACTERS)}`,
    ),
  )
  tollgate.on('pending', (payment) => {
    const sent = current.getStore()?.sent
    if (sent && !sent.some((one) => isSame(one, payment))) sent.push(payment)
    report(payment, `The payment of ${amountOf(payment)} is being settled`)
  })
  tollgate.on('paid', (payment) => {
    const call = current.getStore()
    if (call) {
      call.paid.push(payment)
      call.sent = call.sent.filter((one) => !isSame(one, payment))
    }
    report(payment, `Paid ${amountOf(payment)}`)
  })

  /** Runs a task; the call has what it has paid and sent so far, which an error of the task names, too. */
  return async function follow<T>(
    context: ToolContext,
    task: (payments: Readonly<CallPayments>) => Promise<T>,
  ): Promise<T> {
    const reporter = createReporter(context)
    const call: Call = { paid: [], sent: [], progress: reporter.progress }
    running.add(call)
    try {
      return await current.run(call, () => task(call))
    } catch (error) {
      throw withPayments(error, call, format)
    } finally {
      running.delete(call)
      reporter.stop()
    }
  }
}

const isSame = (one: Payment, other: Payment) =>
  (['url', 'network', 'asset', 'payTo', 'amount'] as const).every((name) => one[name] === other[name])

function withPayments(error: unknown, { paid, sent }: CallPayments, format: AmountFormat): unknown {
  const price = isTollgateError(error) ? priceIn(error.details, format) : undefined
  if (paid.length === 0 && sent.length === 0 && price === undefined) return error
  const { code, message, advice, details } = failureOf(error)
  const payments = {
    ...(price === undefined ? {} : { price }),
    ...(paid.length > 0 ? { paid: paidOutput(paid, format) } : {}),
    ...(sent.length > 0 ? { sent: sentOutput(sent, format) } : {}),
  }
  return new ToolError(code, message, advice, { ...payments, ...details }, error)
}

/** What an error of the limits says was asked for. */
function priceIn({ amount, asset, network }: Record<string, unknown>, format: AmountFormat) {
  const isPayment = typeof amount === 'bigint' && typeof asset === 'string' && typeof network === 'string'
  return isPayment ? format(amount, { asset, network }) : undefined
}

/** Progress once there is a payment, repeated while it settles, so that a client does not give up. */
function createReporter({ progressToken, notifyProgress }: ToolContext) {
  let step = 0
  let last: string | undefined
  const send = () => {
    if (progressToken === undefined || last === undefined) return
    notifyProgress({ progressToken, progress: (step += 1), message: last })
  }
  const timer = progressToken === undefined ? undefined : setInterval(send, HEARTBEAT_MS)
  return {
    progress(message: string) {
      last = message
      send()
    },
    stop: () => clearInterval(timer),
  }
}
