import { type Span, type SpanOptions, type Tracing } from '@tollgate/service'
import { type Claim } from './claims/claim'

/** Spans of one step: a transaction can carry the settlements of many traces. */
const MAX_SPANS = 32

type Traced = Pick<Claim, 'id' | 'traceparent'>

/** A step of one transaction. */
export type SettlementStep = {
  /** Undefined if none of the settlements is in a sampled trace. */
  span: Span | undefined
  end(attributes?: SpanOptions['attributes']): void
  fail(error: unknown): void
}

export type SettlementSteps = ReturnType<typeof createSettlementSteps>

/**
 * The steps of settlements in the traces of the requests that claimed them, on any replica. A step of a transaction is a span in
 * the trace of each of its settlements; the requests to nodes are in that of the first, to which the others are linked.
 */
export function createSettlementSteps(tracing: Tracing, network: string) {
  const spanOf = ({ id, traceparent }: Traced, name: string, options: SpanOptions = {}): Span[] => {
    const attributes = {
      'tollgate.settlement_id': String(id),
      'tollgate.network': network,
      ...options.attributes,
    }
    const parent = tracing.resume(traceparent)
    return parent ? [parent.child(name, { ...options, attributes })] : []
  }

  return {
    parentOf: ({ traceparent }: Pick<Traced, 'traceparent'>): Span | undefined => tracing.resume(traceparent),

    start(claims: readonly Traced[], name: string, options: SpanOptions = {}): SettlementStep {
      const spans: Span[] = []
      for (const claim of claims) {
        if (spans.length >= MAX_SPANS) break
        const [first] = spans
        spans.push(...spanOf(claim, name, first ? { ...options, links: [first] } : options))
      }
      const end = (attributes: SpanOptions['attributes'] = {}) => {
        for (const span of spans) {
          span.set({ 'tollgate.settlements': claims.length, ...attributes })
          span.end()
        }
      }
      return {
        span: spans[0],
        end,
        fail(error) {
          for (const span of spans) span.fail(error)
          end()
        },
      }
    },
  }
}

/** Runs a step of a transaction. */
export async function inStep<T>(
  step: SettlementStep,
  run: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  try {
    const result = await run(step.span)
    step.end()
    return result
  } catch (error) {
    step.fail(error)
    throw error
  }
}
