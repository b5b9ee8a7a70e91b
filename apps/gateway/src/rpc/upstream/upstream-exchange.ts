import { type Readable } from 'node:stream'
import { type Dispatcher } from 'undici'
import { createBodyBuffer, streamOf } from './answer-body'
import { type Slot } from './connection-limiter'

/** A complete answer or, above MAX_BUFFERED_BYTES, its beginning and the stream of the rest. */
export type Answer = {
  status: number
  headers: AnswerHeaders
  body: Buffer
  rest: Readable | undefined
}
type AnswerHeaders = Record<string, string | string[] | undefined>

/** `unsent`: provably nothing was sent. `reset`: the connection broke before a complete answer. `abandoned`: the caller disconnected. */
export type UpstreamExchange =
  | { outcome: 'answered'; answer: Answer }
  | { outcome: 'unsent' | 'reset' | 'timeout' }
  | { outcome: 'abandoned'; wasSent: boolean }

/** The connection of the client that waits for the answer. */
export type Caller = {
  hasLeft: () => boolean
  /** Returns a function that removes the listener. */
  onLeave: (listener: () => void) => () => void
}

/** A longer answer is streamed. */
const MAX_BUFFERED_BYTES = 262_144

type Options = { timeoutMs: number; responseTimeoutMs?: number; caller: Caller; slot: Slot }

/**
 * Sends one request to one upstream. The buffered part of its answer must arrive within `responseTimeoutMs`; a stream must make
 * progress within `timeoutMs`. If the caller leaves, the request ends, or is removed from the queue.
 */
export const exchange = (
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: Options,
): Promise<UpstreamExchange> =>
  new Promise((resolve) => new Exchange(options, resolve).start(dispatcher, request))

/** One exchange: its request, its answer, and its one result, of which the first counts. A class, because every paid call makes one. */
class Exchange implements Dispatcher.DispatchHandler {
  /** From then on the dispatcher's callbacks release the slot. */
  private isDispatched = false
  /** Set before the first byte of the request can be written. */
  private connection: Dispatcher.DispatchController | undefined
  private isSettled = false
  private status = 0
  private headers: AnswerHeaders = {}
  private readonly buffered = createBodyBuffer()
  private rest: Readable | undefined
  private readonly timer: NodeJS.Timeout
  private readonly removeListener: () => void

  constructor(
    private readonly options: Options,
    private readonly resolve: (result: UpstreamExchange) => void,
  ) {
    const { caller, responseTimeoutMs = options.timeoutMs } = options
    this.timer = setTimeout(onTimeout, responseTimeoutMs, this)
    this.removeListener = caller.onLeave(() => this.abandon())
  }

  start(dispatcher: Dispatcher, request: Dispatcher.DispatchOptions) {
    if (this.options.caller.hasLeft()) this.abandon()
    else
      this.options.slot.acquire(() => {
        this.isDispatched = true
        dispatcher.dispatch(request, this)
      })
  }

  timeOut() {
    this.abort({ outcome: this.connection ? 'timeout' : 'unsent' })
  }

  private abandon() {
    this.abort({ outcome: 'abandoned', wasSent: this.connection !== undefined })
  }

  private abort(result: UpstreamExchange) {
    this.settle(result)
    if (!this.isDispatched) this.options.slot.release()
    this.connection?.abort(new Error('Request aborted'))
  }

  private settle(result: UpstreamExchange) {
    if (this.isSettled) return
    this.isSettled = true
    clearTimeout(this.timer)
    this.removeListener()
    this.resolve(result)
  }

  private answer(): UpstreamExchange {
    const { status, headers, rest } = this
    return { outcome: 'answered', answer: { status, headers, body: this.buffered.content(), rest } }
  }

  onRequestStart(controller: Dispatcher.DispatchController) {
    // Throwing keeps the connection open for the requests that wait for one; aborting would close it.
    if (this.isSettled) throw new Error('Request aborted before it was sent')
    this.connection = controller
  }

  /** The last call counts: an interim response (103) may come first. */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: AnswerHeaders) {
    this.status = status
    this.headers = headers
  }

  /** Buffers the answer, and streams the rest of a long one. */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer) {
    if (this.rest) {
      if (!this.rest.push(chunk)) controller.pause()
      return
    }
    this.buffered.add(chunk)
    if (this.buffered.length() <= MAX_BUFFERED_BYTES) return
    this.rest = streamOf(controller, this.options.timeoutMs)
    this.settle(this.answer())
  }

  onResponseEnd() {
    this.options.slot.release()
    if (this.rest) this.rest.push(null)
    else this.settle(this.answer())
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error) {
    this.options.slot.release()
    if (this.rest) this.rest.destroy(error)
    else this.settle({ outcome: this.connection ? 'reset' : 'unsent' })
  }
}

const onTimeout = (exchange: Exchange) => exchange.timeOut()
