import { TollgateError } from './errors.js'

/** Who waits for a payment. `commit` is called when its outcome is known, which stands whatever stops. */
export type Caller = { signal?: AbortSignal | undefined; commit?: () => void }

/** What ends a wait: the client's `close()`, the caller's signal, or a timeout. */
export type Stops = { closed: AbortSignal; signal?: AbortSignal | undefined; timeout?: AbortSignal }

const names = ['closed', 'signal', 'timeout'] as const

const errors = {
  closed: () => new TollgateError('CLOSED', 'The client was closed'),
  signal: ({ reason: cause }: AbortSignal) =>
    new TollgateError('ABORTED', 'The call was stopped by its signal', { cause }),
  timeout: () => new TollgateError('TIMEOUT', 'There was no answer in time'),
}

/** @throws TollgateError CLOSED, ABORTED, TIMEOUT */
export function assertNotStopped(stops: Stops): void {
  for (const name of names) {
    const signal = stops[name]
    if (signal?.aborted) throw errors[name](signal)
  }
}

/**
 * The result of work, for as long as the caller waits: the work itself may go on, and how it ends is ignored. Once the work has
 * called `commit`, nothing stops the wait any more.
 *
 * @throws TollgateError CLOSED, ABORTED, TIMEOUT
 */
export function untilStopped<T>(begin: (commit: () => void) => T | Promise<T>, stops: Stops): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    assertNotStopped(stops)
    const listeners = names.map((name) => onAbort(stops[name], (signal) => reject(errors[name](signal))))
    const commit = () => listeners.forEach((forget) => forget())
    new Promise<T>((done) => done(begin(commit))).then(resolve, reject).finally(commit)
  })
}

/** Resolves after `ms`. @throws TollgateError CLOSED, ABORTED, TIMEOUT */
export async function pause(ms: number, stops: Stops): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  try {
    await untilStopped(() => new Promise<void>((resolve) => (timer = setTimeout(resolve, ms))), stops)
  } finally {
    clearTimeout(timer)
  }
}

/** A signal of its own for one waiter: Node warns of a leak where more than ten listen to the same one. */
export const signalOf = ({ closed, signal }: Stops): AbortSignal =>
  AbortSignal.any(signal ? [closed, signal] : [closed])

const waiting = new WeakMap<AbortSignal, Set<() => void>>()

/** One listener of a signal serves all who wait, for the same reason. */
function onAbort(signal: AbortSignal | undefined, reject: (signal: AbortSignal) => void): () => void {
  if (!signal) return () => undefined
  const stop = () => reject(signal)
  const stops = waiting.get(signal) ?? listen(signal)
  stops.add(stop)
  return () => void stops.delete(stop)
}

function listen(signal: AbortSignal): Set<() => void> {
  const stops = new Set<() => void>()
  signal.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
  waiting.set(signal, stops)
  return stops
}
