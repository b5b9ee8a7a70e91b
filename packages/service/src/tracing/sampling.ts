import { type TraceParent } from './traceparent'
import { type TracingSettings } from './variables'

/**
 * Decides at the door whether a request is traced. The ratio is drawn here and not computed from the trace id, which a caller
 * chooses; and of the traces that callers ask for, at most `forcedPerMinute` are sampled without a draw.
 */
export function createSampling(
  {
    ratio,
    followsParent,
    forcedPerMinute,
  }: Pick<TracingSettings, 'ratio' | 'followsParent' | 'forcedPerMinute'>,
  { random, monotonicMs }: { random: () => number; monotonicMs: () => number },
) {
  let tokens = forcedPerMinute
  let filledAt = monotonicMs()

  function takeForced(): boolean {
    const now = monotonicMs()
    tokens = Math.min(forcedPerMinute, tokens + ((now - filledAt) * forcedPerMinute) / 60_000)
    filledAt = now
    if (tokens < 1) return false
    tokens--
    return true
  }

  return (parent: TraceParent | undefined): boolean => {
    if (parent && followsParent) {
      if (!parent.isSampled) return false
      if (takeForced()) return true
    }
    return random() < ratio
  }
}
