import { setTimeout as delay } from 'node:timers/promises'
import { type Callers } from '@tollgate/e2e/testing/callers'
import { type Customer } from '@tollgate/e2e/testing/customers'
import { type AnswerMode } from '@tollgate/e2e/testing/upstream'

/** The call as its caller sees it. Without a status it was cut off: sent, but never answered. */
export type Made = { id: string; wallet: string; status?: number; code?: string | undefined }

export type Load = ReturnType<typeof startLoad>

const LANES = 2
const AFTER_CUT_MS = 20
const AFTER_PENDING_MS = 50
const OUTCOME_TIMEOUT_MS = 60_000

/**
 * One call in ten is answered late, so that some are always in flight; one in ten is cut off by the upstream.
 */
function answerModeOf(n: number): AnswerMode {
  if (n % 10 === 3) return 'answer_late'
  return n % 10 === 7 ? 'cut' : 'answer'
}

/**
 * Customers that call continuously and pay on demand, until they are stopped. Each sent payment is repeated with the next
 * call until the gateway reports its outcome.
 */
export function startLoad({
  round,
  customers,
  callers,
}: {
  round: number
  customers: readonly Customer[]
  callers: Callers
}) {
  const made: Made[] = []
  const underWay = { calls: 0, payments: 0 }
  let calls = 0
  let answered = 0
  let stopsAt = Infinity
  const isOver = () => Date.now() > stopsAt

  async function attempt({ address, session }: Customer, payment?: string) {
    const n = calls++
    const call = { id: `${round}/${n}`, token: session.token, answerMode: answerModeOf(n) }
    const record: Made = { id: call.id, wallet: address }
    underWay.calls++
    if (payment !== undefined) underWay.payments++
    try {
      const answer = await callers.call(n, payment === undefined ? call : { ...call, payment })
      record.status = answer.status
      record.code = answer.body['code'] as string | undefined
      made.push(record)
      answered++
      return answer
    } catch (error) {
      // A refused connection means that the call was never sent.
      if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') made.push(record)
      await delay(AFTER_CUT_MS)
      return undefined
    } finally {
      underWay.calls--
      if (payment !== undefined) underWay.payments--
    }
  }

  async function lane(customer: Customer) {
    let payment: string | undefined
    while (!isOver() || (payment !== undefined && Date.now() < stopsAt + OUTCOME_TIMEOUT_MS)) {
      const answer = await attempt(customer, payment)
      if (answer?.status === 402) {
        payment = isOver() ? undefined : await customer.pay(answer.body)
      } else if (answer?.status === 503) {
        await delay(AFTER_PENDING_MS)
      } else if (answer) {
        payment = undefined
      }
    }
    if (payment !== undefined)
      throw new Error(`The gateway reported no outcome for the payment of ${customer.address}`)
  }

  const lanes = customers.flatMap((customer) => Array.from({ length: LANES }, () => lane(customer)))
  const ended = Promise.all(lanes)
  // Awaited by `stop`.
  ended.catch(() => undefined)

  return {
    made: made as readonly Made[],
    underWay: underWay as Readonly<typeof underWay>,
    answered: () => answered,
    async stop() {
      stopsAt = Date.now()
      await ended
    },
  }
}
