import { addressKey, ApiError } from '@tollgate/service'
import { type Request, type Response } from 'express'

type Handler<Arguments extends [Request, Response, ...unknown[]]> = (...args: Arguments) => unknown

/**
 * A bulkhead between long answers and payments, which share the database's connections: of the handlers that it wraps,
 * `atOnce` run at a time, in the order of their requests. `waiting` requests wait at most; `perCaller` of one user, or of
 * one address where no user is known, wait or run. A request whose caller leaves while it waits gives up its place.
 *
 * @throws ApiError OVERLOADED, from the handlers, for a request beyond these
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
  /** What starts those who wait, oldest first. */
  const queue = new Set<() => void>()
  const callers = new Map<string, number>()
  let running = 0

  /** Resolves when the request may run; false where its caller left before. */
  function turn(res: Response): Promise<boolean> {
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
  /** A turn that ends is handed over, so that nobody comes in between. */
  function endTurn() {
    const [next] = queue
    if (!next) {
      running--
      return
    }
    queue.delete(next)
    next()
  }

  return <Arguments extends [Request, Response, ...unknown[]]>(handler: Handler<Arguments>) =>
    async (...args: Arguments): Promise<void> => {
      const [req, res] = args
      const caller = callerOf(req, res)
      const own = callers.get(caller) ?? 0
      if (own >= perCaller || queue.size >= waiting)
        throw new ApiError('OVERLOADED', 'Too many long answers are asked for just now; try again', {
          retryAfterSeconds: 2,
        })
      callers.set(caller, own + 1)
      try {
        if (res.closed || !(await turn(res))) return
        try {
          await handler(...args)
        } finally {
          endTurn()
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
