import { useSyncExternalStore } from 'react'
import { relativeTime } from './format'
import { tickOf, TICK_MS } from './tick'

const listeners = new Set<() => void>()
let timer: number | undefined

function subscribe(listener: () => void) {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    for (const each of listeners) each()
  }, TICK_MS)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    window.clearInterval(timer)
    timer = undefined
  }
}

/** `5 minutes ago`, true while it is shown, and the same for the same time on all of the page. */
export const useRelativeTime = (at: string): string =>
  useSyncExternalStore(subscribe, () => {
    const date = new Date(at)
    return relativeTime(date, tickOf(date, Date.now()))
  })
