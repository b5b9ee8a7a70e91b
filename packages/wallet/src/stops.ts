import { TollgateError } from './errors.js'

/** What ends a wait: the client's `close()`, the caller's signal, or a timeout. */
export type Stops = { closed: AbortSignal; signal?: AbortSignal | undefined; timeout?: AbortSignal }

const names = ['closed', 'signal', 'timeout'] as const

const errors = {
  closed: () => new TollgateError('CLOSED', 'The client was closed'),
  signal: () => new TollgateError('ABORTED', 'The call was stopped by its signal'),
  timeout: () => new TollgateError('TIMEOUT', 'There was no answer in time'),
}

/** @throws TollgateError CLOSED, ABORTED, TIMEOUT */
export function assertNotStopped(stops: Stops): void {
  for (const name of names) if (stops[name]?.aborted) throw errors[name]()
}

/**
 * The result of work, for as long as the caller waits: the work itself may go on, and nobody sees how it ends.
 *
 * @throws TollgateError CLOSED, ABORTED, TIMEOUT
 */
export function untilStopped<T>(begin: () => T | Promise<T>, stops: Stops): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    assertNotStopped(stops)
    const listeners = names.map((name) => onAbort(stops[name], () => reject(errors[name]())))
    const ended = () => listeners.forEach((forget) => forget())
    new Promise<T>((done) => done(begin())).then(resolve, reject).finally(ended)
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
function onAbort(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (!signal) return () => undefined
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
