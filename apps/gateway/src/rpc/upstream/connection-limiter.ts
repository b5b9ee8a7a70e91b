/** `release` frees the slot, or leaves the queue if it was not acquired yet. Idempotent. */
export type Slot = { acquire: (start: () => void) => void; release: () => void }

type Queue = { taken: number; held: Map<string, number>; waiting: Set<Waiting> }
type Waiting = { holder: string; start: () => void }

/** Limits concurrent requests per origin, in total and per holder. Waiting requests start in order, as far as their holder's limit allows. */
export function createConnectionLimiter({ max, maxPerHolder }: { max: number; maxPerHolder: number }) {
  const queues = new Map<string, Queue>()

  const queueOf = (origin: string): Queue => {
    const existing = queues.get(origin)
    if (existing) return existing
    const queue: Queue = { taken: 0, held: new Map(), waiting: new Set() }
    queues.set(origin, queue)
    return queue
  }
  const slotsOf = (queue: Queue, holder: string) => queue.held.get(holder) ?? 0
  const canStart = (queue: Queue, holder: string) =>
    queue.taken < max && slotsOf(queue, holder) < maxPerHolder

  function startRequest(queue: Queue, { holder, start }: Waiting) {
    queue.taken++
    queue.held.set(holder, slotsOf(queue, holder) + 1)
    start()
  }

  function freeSlot(origin: string, queue: Queue, holder: string) {
    queue.taken--
    const left = slotsOf(queue, holder) - 1
    if (left > 0) queue.held.set(holder, left)
    else queue.held.delete(holder)
    for (const next of queue.waiting) {
      if (queue.taken >= max) return
      if (!canStart(queue, next.holder)) continue
      queue.waiting.delete(next)
      startRequest(queue, next)
    }
    if (queue.taken === 0 && queue.waiting.size === 0) queues.delete(origin)
  }

  return (origin: string, holder: string): Slot => {
    let request: { queue: Queue; waiting: Waiting } | undefined
    let hasStarted = false
    return {
      acquire(start) {
        const queue = queueOf(origin)
        const waiting = {
          holder,
          start() {
            hasStarted = true
            start()
          },
        }
        request = { queue, waiting }
        if (canStart(queue, holder)) startRequest(queue, waiting)
        else queue.waiting.add(waiting)
      },
      release() {
        if (!request) return
        const { queue, waiting } = request
        request = undefined
        if (hasStarted) freeSlot(origin, queue, holder)
        else queue.waiting.delete(waiting)
      },
    }
  }
}
