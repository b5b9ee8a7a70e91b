import { type RefusalKind } from './upstream/provider-refusals'

/** What the caller of a call, or of an entry of a batch, reads that no provider served. Clients that split a query look for "block range" and "too large". */
export function failureMessage(refusal: RefusalKind | undefined, isCharged: boolean): string {
  if (refusal === 'query_limit')
    return isCharged
      ? `The block range, the result or the batch is too large for every provider of the chain; ${CHARGED}, so ask for less at once`
      : 'The block range, the result or the batch is too large for every provider of the chain; the credits are given back, so ask for less at once'
  if (refusal === 'plan')
    return isCharged
      ? `No provider of the chain offers this method or this query to the gateway; ${CHARGED}`
      : 'No provider of the chain offers this method or this query to the gateway; the credits are given back'
  return 'No upstream answered; the credits are given back, so try again'
}

const CHARGED = 'too many calls of this wallet were refused for that within a minute, so this one was charged'

export const TOO_MANY_TIMEOUTS =
  'No upstream answered in time, and too many calls of this wallet timed out within a minute, so this one was charged; wait a minute, or send smaller calls'
