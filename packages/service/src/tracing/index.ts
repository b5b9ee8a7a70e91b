export { activeTraceId, callWithActiveSpan, traced, type Span, type SpanOptions } from './span'
export { NO_TRACING, openTracing, type Tracing } from './tracing'
export { traceIdOf } from './traceparent'
export { collectorVariables, tracingVariables } from './variables'
