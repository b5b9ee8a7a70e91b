import { ApiError } from '../errors'
import { addressKey } from '../rate-limit'
import { type Request, type Response } from 'express'

type Handler<Arguments extends [Request, Response, ...unknown[]], Result> = (
  ...args: Arguments
) => Result | Promise<Result>

/**
 * Keeps database connections free for payments. At most `atOnce` wrapped handlers run, in order of arrival; at most `waiting`
 * requests wait; at most `perCaller` of one user, or of one address without a user, wait or run. Others are refused with
 * OVERLOADED. The result is that of the handler, or undefined if the client left before its turn.
 */
export function createBulkhead({
  atOnce,
  waiting,
  perCaller,
}: {
  atOnce: number
  waiting: number
  perCaller: number
}) {
  const queue = new Set<() => void>()
  const callers = new Map<string, number>()
  let running = 0

  function acquire(res: Response): Promise<boolean> {
    if (running < atOnce) {
      running++
      return Promise.resolve(true)
    }
    return new Promise((resolve) => {
      const start = () => {
        res.off('close', leave)
        resolve(true)
      }
      const leave = () => {
        queue.delete(start)
        resolve(false)
      }
      queue.add(start)
      res.once('close', leave)
    })
  }
  /** Hands the slot to the next waiting request, so that a later one cannot overtake it. */
  function release() {
    const [next] = queue
    if (!next) {
      running--
      return
    }
    queue.delete(next)
    next()
  }

  return <Arguments extends [Request, Response, ...unknown[]], Result>(handler: Handler<Arguments, Result>) =>
    async (...args: Arguments): Promise<Result | undefined> => {
      const [req, res] = args
      const caller = callerOf(req, res)
      const own = callers.get(caller) ?? 0
      if (own >= perCaller || queue.size >= waiting)
        throw new ApiError('OVERLOADED', 'Too many concurrent requests for long responses; try again', {
          retryAfterSeconds: 2,
        })
      callers.set(caller, own + 1)
      try {
        if (res.closed || !(await acquire(res))) return undefined
        try {
          return await handler(...args)
        } finally {
          release()
        }
      } finally {
        const others = (callers.get(caller) ?? 1) - 1
        if (others > 0) callers.set(caller, others)
        else callers.delete(caller)
      }
    }
}

const callerOf = (req: Request, { locals }: Response): string =>
  typeof locals.userId === 'number' ? `user ${locals.userId}` : addressKey(req)
