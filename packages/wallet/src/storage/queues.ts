import { TollgateError } from '../errors.js'

/** Runs the tasks of one name one after the other, within this process. */
export function createQueues() {
  const last = new Map<string, Promise<unknown>>()

  return {
    isTaken: (name: string) => last.has(name),

    /** @throws TollgateError ABORTED if the signal comes before the task has begun; the task never runs then */
    run<T>(name: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
      const before = last.get(name) ?? Promise.resolve()
      const turn = before.then(() => {
        if (signal?.aborted) throw stopped()
        return task()
      })
      const ended = turn.then(nothing, nothing)
      last.set(name, ended)
      void ended.then(() => {
        if (last.get(name) === ended) last.delete(name)
      })
      return turn
    },
  }
}

export const stopped = () => new TollgateError('ABORTED', 'The wait for another tab or process was stopped')

const nothing = () => undefined
