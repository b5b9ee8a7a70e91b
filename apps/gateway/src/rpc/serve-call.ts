import { ApiError, endOfTurn, traced, type Budget, type Logger } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { type Route } from '../catalog/catalog'
import { createCallRecord } from './call-record'
import { type CountCall } from './call-metrics'
import { type CallRequest, type CallResponse, type PaidFor } from './call'
import { countUnknownMethods } from './unknown-methods'
import { type Forward, type Forwarded } from './upstream/forward'
import { type Answer } from './upstream/upstream-exchange'

export type ServeDependencies = {
  ledger: Ledger
  forward: Forward
  /** Calls of a wallet that may time out at upstreams, or be left by their callers, without being charged. */
  freeTimeouts: Budget
  /** Entries of a wallet's calls that a node may not know without being charged. */
  freeUnknownMethods: Budget
  logger: Logger
}

/** Forwards a call that is paid for, and charges for it or gives its credits back. */
export async function serveCall(
  dependencies: ServeDependencies,
  { outgoing }: CallRequest,
  response: CallResponse,
  { route, paidFor, count }: { route: Route; paidFor: PaidFor; count: CountCall },
): Promise<void> {
  const { wallet, cost, spent, span } = paidFor
  const record = createCallRecord(dependencies, spent.usageId, count)
  const forwarded = await traced(span, 'forward call', {}, (step) =>
    dependencies.forward(outgoing, route.endpoints, { caller: response, wallet, span: step }),
  ).catch(async (error: unknown) => {
    await record.end('refunded', null, 'defect')
    throw error
  })
  // The upstream has read the body: a client that reads its answer slowly must not keep that memory in use.
  response.releaseRequestBody()

  const charged = { 'X-Credits-Charged': String(cost), 'X-Credits-Remaining': spent.remaining.toString() }
  const isFree = () => dependencies.freeTimeouts(wallet).catch(() => true)
  if (forwarded.outcome === 'failed') {
    if (!forwarded.isTimeout || (await isFree())) return failFree(record)
    response.setHeaders(charged)
    return failCharged(record)
  }
  if (forwarded.outcome === 'abandoned')
    return endAbandoned(record, forwarded, paidFor.isRepeatable && (await isFree()))

  const { answer } = forwarded
  const unknown = outgoing.transport === 'rpc' ? countUnknownMethods(answer) : 0
  if (unknown > 0 && (await dependencies.freeUnknownMethods(wallet, unknown).catch(() => true)))
    return sendRefunded(record, response, answer, spent.remaining + BigInt(cost))
  // The answers of a turn are written one after the other, which wakes the process that reads them once.
  await endOfTurn()
  const mayConfirmLater = !answer.rest && dependencies.ledger.hasLease(spent.usageId)
  const headers = paidFor.onAnswer ? { ...charged, ...paidFor.onAnswer(answer) } : charged
  await sendAnswer(record, response, { answer, headers, mayConfirmLater })
}

type CallRecord = ReturnType<typeof createCallRecord>

/** `mayConfirmLater`: the lease is held now, so no await may precede the first byte. A streamed answer can outlast the lease. */
async function sendAnswer(
  record: CallRecord,
  response: CallResponse,
  parts: { answer: Answer; headers: Record<string, string>; mayConfirmLater: boolean },
) {
  const { answer, headers, mayConfirmLater } = parts
  if (mayConfirmLater) void record.end('done', answer.status, 'answered')
  else await record.confirm(answer)
  response.setHeaders(headers)
  const sent = await response.send(answer)
  if (!mayConfirmLater) await record.completeConfirmed(sent)
}

/** Refunds before it answers, so that the credits of the answer's headers can be spent. */
async function sendRefunded(record: CallRecord, response: CallResponse, answer: Answer, remaining: bigint) {
  await record.end('refunded', answer.status, 'method_not_found')
  response.setHeaders({ 'X-Credits-Charged': '0', 'X-Credits-Remaining': remaining.toString() })
  await response.send(answer)
}

async function failFree(record: CallRecord): Promise<never> {
  await record.end('refunded', null, 'upstream_failed')
  throw new ApiError('UPSTREAM_FAILED', 'No upstream answered; the credits are given back, so try again')
}

async function failCharged(record: CallRecord): Promise<never> {
  await record.end('done', null, 'upstream_timeout')
  throw new ApiError('UPSTREAM_FAILED', TOO_MANY_TIMEOUTS)
}

/**
 * A call that an upstream may have executed stays charged, or clients could disconnect to call for free; but for a payment that
 * serves one call, whose client may present it again after a lost answer, within its wallet's budget.
 */
const endAbandoned = (
  record: CallRecord,
  { wasSent }: Extract<Forwarded, { outcome: 'abandoned' }>,
  isFree: boolean,
) => record.end(wasSent && !isFree ? 'done' : 'refunded', null, 'caller_left')

const TOO_MANY_TIMEOUTS =
  'No upstream answered in time, and too many calls of this wallet timed out within a minute, so this one was charged; wait a minute, or send smaller calls'
