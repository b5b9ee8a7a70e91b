/** A place in the line for something scarce. `leave` gives the place back, be it taken or waited for; doing so twice is once. */
export type Turn = { enter: (start: () => void) => void; leave: () => void }

type Line = { taken: number; held: Map<string, number>; waiting: Set<Waiting> }
type Waiting = { holder: string; start: () => void }

/**
 * Who may go now, for each of many `places`: `max` at once, and `maxEach` of these for one holder, so that nobody can take a
 * place from all others. Those who must wait are started in their order, as far as their holder has a turn left.
 */
export function createTurns({ max, maxEach }: { max: number; maxEach: number }) {
  const lines = new Map<string, Line>()

  const lineOf = (place: string): Line => {
    const known = lines.get(place)
    if (known) return known
    const line: Line = { taken: 0, held: new Map(), waiting: new Set() }
    lines.set(place, line)
    return line
  }
  const heldBy = (line: Line, holder: string) => line.held.get(holder) ?? 0
  const mayGo = (line: Line, holder: string) => line.taken < max && heldBy(line, holder) < maxEach

  function take(line: Line, { holder, start }: Waiting) {
    line.taken++
    line.held.set(holder, heldBy(line, holder) + 1)
    start()
  }

  function giveBack(place: string, line: Line, holder: string) {
    line.taken--
    const left = heldBy(line, holder) - 1
    if (left > 0) line.held.set(holder, left)
    else line.held.delete(holder)
    for (const next of line.waiting) {
      if (line.taken >= max) return
      if (!mayGo(line, next.holder)) continue
      line.waiting.delete(next)
      take(line, next)
    }
    if (line.taken === 0 && line.waiting.size === 0) lines.delete(place)
  }

  return (place: string, holder: string): Turn => {
    let own: { line: Line; waiting: Waiting } | undefined
    let hasBegun = false
    return {
      enter(start) {
        const line = lineOf(place)
        const waiting = {
          holder,
          start() {
            hasBegun = true
            start()
          },
        }
        own = { line, waiting }
        if (mayGo(line, holder)) take(line, waiting)
        else line.waiting.add(waiting)
      },
      leave() {
        if (!own) return
        const { line, waiting } = own
        own = undefined
        if (hasBegun) giveBack(place, line, holder)
        else line.waiting.delete(waiting)
      },
    }
  }
}
