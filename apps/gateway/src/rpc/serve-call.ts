import { ApiError, endOfTurn, traced, type Budget, type Logger } from '@tollgate/service'
import { type Ledger } from '../accounts/ledger'
import { type Route } from '../catalog/catalog'
import { createCallRecord } from './call-record'
import { type CountCall } from './call-metrics'
import { type CallRequest, type CallResponse, type PaidFor } from './call'
import { jsonRpcCodes } from './json-rpc'
import { countUnknownMethods } from './unknown-methods'
import { creditsOfUnserved } from './unserved-entries'
import { failureMessage, TOO_MANY_TIMEOUTS } from './failure-messages'
import { type Forward, type Forwarded } from './upstream/forward'
import { isOfTheCall } from './upstream/provider-refusals'
import { replaceResponses } from './upstream/replace-responses'
import { type Answer } from './upstream/upstream-exchange'
import { type UpstreamRequest } from './upstream/upstream-request'

export type ServeDependencies = {
  ledger: Ledger
  forward: Forward
  /** Credits of a wallet's calls that may time out at upstreams, or be left by their callers, without being charged. */
  freeTimeouts: Budget
  /** Credits of a wallet's calls, and of entries of its batches, that providers may refuse for what they ask without being charged. */
  freeRefusals: Budget
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
  const { credits, provoked } = creditsOfUnservedIn(forwarded, outgoing, route)
  // The upstream has read the body: a client that reads its answer slowly must not keep that memory in use.
  response.releaseRequestBody()

  const charged = { 'X-Credits-Charged': String(cost), 'X-Credits-Remaining': spent.remaining.toString() }
  const isFree = () => dependencies.freeTimeouts(wallet, cost).catch(() => true)
  const isRefusedFree = (credits: number) => dependencies.freeRefusals(wallet, credits).catch(() => true)
  if (forwarded.outcome === 'failed')
    return endFailed(record, response, forwarded, { charged, cost, isFree, isRefusedFree })
  if (forwarded.outcome === 'abandoned')
    return endAbandoned(record, forwarded, paidFor.isRepeatable && (await isFree()))

  const areRefusalsFree = provoked === 0 || (await isRefusedFree(provoked))
  const unserved = areRefusalsFree ? credits : credits - provoked
  const answer = withOwnErrors(forwarded, areRefusalsFree)
  if (unserved > 0) return sendInPart(record, response, { answer, unserved, paidFor })
  const unknown = outgoing.transport === 'rpc' ? countUnknownMethods(answer) : 0
  if (unknown > 0 && (await dependencies.freeUnknownMethods(wallet, unknown).catch(() => true)))
    return sendRefunded(record, response, answer, {
      remaining: spent.remaining + BigInt(cost),
      outcome: 'method_not_found',
    })
  // The answers of a turn are written one after the other, which wakes the process that reads them once.
  await endOfTurn()
  const mayConfirmLater = !answer.rest && dependencies.ledger.hasLease(spent.usageId)
  const headers = paidFor.onAnswer ? { ...charged, ...paidFor.onAnswer(answer) } : charged
  await sendAnswer(record, response, { answer, headers, mayConfirmLater })
}

type CallRecord = ReturnType<typeof createCallRecord>

type Budgets = { isFree: () => Promise<boolean>; isRefusedFree: (credits: number) => Promise<boolean> }

/** Gives the credits back of a call that failed, within the budgets of its wallet where the caller could make it fail. */
async function endFailed(
  record: CallRecord,
  response: CallResponse,
  { isTimeout, refusal }: Extract<Forwarded, { outcome: 'failed' }>,
  parts: Budgets & { charged: Record<string, string>; cost: number },
): Promise<never> {
  const isProvoked = refusal !== undefined && isOfTheCall(refusal)
  const isFree = isTimeout ? await parts.isFree() : !isProvoked || (await parts.isRefusedFree(parts.cost))
  if (isFree) {
    await record.end('refunded', null, 'upstream_failed')
    throw new ApiError('UPSTREAM_FAILED', failureMessage(refusal, false))
  }
  response.setHeaders(parts.charged)
  await record.end('done', null, isTimeout ? 'upstream_timeout' : 'upstream_refused')
  throw new ApiError('UPSTREAM_FAILED', isTimeout ? TOO_MANY_TIMEOUTS : failureMessage(refusal, true))
}

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

/** Gives the credits of the entries back that no node answered, and confirms the charge for the others, before it answers. */
async function sendInPart(
  record: CallRecord,
  response: CallResponse,
  { answer, unserved, paidFor }: { answer: Answer; unserved: number; paidFor: PaidFor },
) {
  const { cost, spent, onAnswer } = paidFor
  const returned = Math.min(unserved, cost)
  const remaining = spent.remaining + BigInt(returned)
  if (returned === cost)
    return sendRefunded(record, response, answer, { remaining, outcome: 'upstream_failed' })
  await record.confirm(answer, returned)
  const charged = {
    'X-Credits-Charged': String(cost - returned),
    'X-Credits-Remaining': remaining.toString(),
  }
  response.setHeaders({ ...charged, ...onAnswer?.(answer) })
  await record.completeConfirmed(await response.send(answer))
}

const creditsOfUnservedIn = (forwarded: Forwarded, { payload }: UpstreamRequest, { provider }: Route) =>
  forwarded.outcome === 'answered' && forwarded.batch
    ? creditsOfUnserved(payload, forwarded.batch, provider.methods)
    : NO_CREDITS

const NO_CREDITS = { credits: 0, provoked: 0 }

/** The error of a provider is never passed on as the node's. */
function withOwnErrors(
  { answer, batch }: Extract<Forwarded, { outcome: 'answered' }>,
  areRefusalsFree: boolean,
): Answer {
  if (!batch || batch.refused.size === 0) return answer
  return replaceResponses(answer, batch.text, (index) => {
    const kind = batch.refused.get(index)
    if (!kind) return undefined
    const message = failureMessage(kind, isOfTheCall(kind) && !areRefusalsFree)
    return `"error":${JSON.stringify({ code: jsonRpcCodes.internalError, message })}`
  })
}

/** Refunds before it answers, so that the credits of the answer's headers can be spent. */
async function sendRefunded(
  record: CallRecord,
  response: CallResponse,
  answer: Answer,
  { remaining, outcome }: { remaining: bigint; outcome: 'method_not_found' | 'upstream_failed' },
) {
  await record.end('refunded', answer.status, outcome)
  response.setHeaders({ 'X-Credits-Charged': '0', 'X-Credits-Remaining': remaining.toString() })
  await response.send(answer)
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
