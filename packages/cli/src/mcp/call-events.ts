import { type Tollgate, type TollgateEvents } from '@tollgate/wallet'
import { AsyncLocalStorage } from 'node:async_hooks'
import { type AmountFormat } from './amounts'
import { type ToolContext } from './tool'

export type Paid = TollgateEvents['paid']
type Payment = TollgateEvents['payment-required']

const HEARTBEAT_MS = 5_000

type Call = { paid: Paid[]; progress(message: string): void }

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
    report(payment, `Paying ${amountOf(payment)} to ${payment.payTo}`),
  )
  tollgate.on('pending', (payment) => report(payment, `The payment of ${amountOf(payment)} is being settled`))
  tollgate.on('paid', (payment) => {
    current.getStore()?.paid.push(payment)
    report(payment, `Paid ${amountOf(payment)}`)
  })

  /** Runs a task; `paid` has what it has paid so far. */
  return async function follow<T>(
    context: ToolContext,
    task: (paid: readonly Paid[]) => Promise<T>,
  ): Promise<T> {
    const reporter = createReporter(context)
    const call: Call = { paid: [], progress: reporter.progress }
    running.add(call)
    try {
      return await current.run(call, () => task(call.paid))
    } finally {
      running.delete(call)
      reporter.stop()
    }
  }
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
