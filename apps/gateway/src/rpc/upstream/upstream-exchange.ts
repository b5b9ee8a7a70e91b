import { type Readable } from 'node:stream'
import { type Dispatcher } from 'undici'
import { createBodyBuffer, streamOf } from './answer-body'
import { type Slot } from './connection-limiter'

/** A complete answer or, above MAX_BUFFERED_BYTES, its beginning and the stream of the rest. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  body: Buffer
  rest?: Readable
}
type AnswerHeaders = Record<string, string | string[] | undefined>

/** `unsent`: provably nothing was sent. `reset`: the connection broke before a complete answer. `abandoned`: the caller disconnected. */
export type UpstreamExchange =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'unsent' | 'reset' | 'timeout' }
  | { outcome: 'abandoned'; wasSent: boolean }

/** A longer answer is streamed. */
const MAX_BUFFERED_BYTES = 262_144

/**
 * Sends one request to one upstream. The buffered part of its answer must arrive within `responseTimeoutMs`; a stream must make
 * progress within `timeoutMs`. Aborting `caller` ends the request, or removes it from the queue.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  {
    timeoutMs,
    responseTimeoutMs = timeoutMs,
    caller,
    slot,
  }: { timeoutMs: number; responseTimeoutMs?: number; caller: AbortSignal; slot: Slot },
): Promise<UpstreamExchange> {
  return new Promise((resolve) => {
    const sending: Sending = { isDispatched: false, connection: undefined }
    const result = createResult({ resolve, sending, slot, caller, responseTimeoutMs })
    if (result.isSettled()) return
    slot.acquire(() => {
      sending.isDispatched = true
      dispatcher.dispatch(request, createHandler({ sending, slot, result, timeoutMs }))
    })
  })
}

type Sending = {
  /** From then on the dispatcher's callbacks release the slot. */
  isDispatched: boolean
  /** Set before the first byte of the request can be written. */
  connection: Dispatcher.DispatchController | undefined
}

type Result = ReturnType<typeof createResult>

/** The first result counts. The timeout and the caller abort the request. */
function createResult({
  resolve,
  sending,
  slot,
  caller,
  responseTimeoutMs,
}: {
  resolve: (result: UpstreamExchange) => void
  sending: Sending
  slot: Slot
  caller: AbortSignal
  responseTimeoutMs: number
}) {
  let isSettled = false

  function settle(result: UpstreamExchange) {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    caller.removeEventListener('abort', onCallerAbort)
    resolve(result)
  }
  function abortWith(result: UpstreamExchange) {
    settle(result)
    if (!sending.isDispatched) slot.release()
    sending.connection?.abort(new Error('Request aborted'))
  }
  const onCallerAbort = () => abortWith({ outcome: 'abandoned', wasSent: sending.connection !== undefined })
  const onTimeout = () => abortWith({ outcome: sending.connection ? 'timeout' : 'unsent' })

  const timer = setTimeout(onTimeout, responseTimeoutMs)
  caller.addEventListener('abort', onCallerAbort)
  if (caller.aborted) onCallerAbort()
  return { settle, isSettled: () => isSettled }
}

/** Buffers the answer, and streams the rest of a long one. */
function createHandler({
  sending,
  slot,
  result,
  timeoutMs,
}: {
  sending: Sending
  slot: Slot
  result: Result
  timeoutMs: number
}): Dispatcher.DispatchHandler {
  let status = 0
  let headers: AnswerHeaders = {}
  const buffered = createBodyBuffer()
  let rest: Readable | undefined

  return {
    onRequestStart(controller) {
      // Throwing keeps the connection open for the requests that wait for one; aborting would close it.
      if (result.isSettled()) throw new Error('Request aborted before it was sent')
      sending.connection = controller
    },
    onResponseStart(_controller, statusCode, received) {
      // The last counts: an interim response (103) may come first.
      status = statusCode
      headers = received
    },
    onResponseData(controller, chunk) {
      if (rest) {
        if (!rest.push(chunk)) controller.pause()
        return
      }
      buffered.add(chunk)
      if (buffered.length() <= MAX_BUFFERED_BYTES) return
      rest = streamOf(controller, timeoutMs)
      result.settle({ outcome: 'answered', answer: { status, headers, body: buffered.content(), rest } })
    },
    onResponseEnd() {
      slot.release()
      if (rest) rest.push(null)
      else result.settle({ outcome: 'answered', answer: { status, headers, body: buffered.content() } })
    },
    onResponseError(_controller, error) {
      slot.release()
      if (rest) rest.destroy(error)
      else result.settle({ outcome: sending.connection ? 'reset' : 'unsent' })
    },
  }
}
