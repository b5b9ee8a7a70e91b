import { MAX_TOTAL_TIMEOUTS } from './rpc/upstream/max-total-timeouts'

/** With the five seconds of preStop it must fit into terminationGracePeriodSeconds of k8s/base/gateway. */
const MAX_STOP_SECONDS = 280
/** What a call takes beside its upstreams: a charge, a purchase, its answer. */
const MARGIN_SECONDS = 10
/** For what follows the last request. */
const AFTER_REQUESTS_SECONDS = 30

export const MAX_UPSTREAM_TIMEOUT_SECONDS =
  (MAX_STOP_SECONDS - MARGIN_SECONDS - AFTER_REQUESTS_SECONDS) / MAX_TOTAL_TIMEOUTS

/** `graceSeconds`: for the requests in flight. `stopSeconds`: for all of the stop. */
export function stopTimes(upstreamTimeoutSeconds: number) {
  const graceSeconds = MAX_TOTAL_TIMEOUTS * upstreamTimeoutSeconds + MARGIN_SECONDS
  return { graceSeconds, stopSeconds: graceSeconds + AFTER_REQUESTS_SECONDS }
}
