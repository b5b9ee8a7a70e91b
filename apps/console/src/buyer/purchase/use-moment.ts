import { useEffect, useState } from 'react'
import { useIsOnline } from '../../ui/use-is-online'
import { type Moment } from './purchase'

const TICK_MS = 1_000

/** The present, read again each second. */
export function useMoment(): Moment {
  const isOnline = useIsOnline()
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), TICK_MS)
    return () => window.clearInterval(timer)
  }, [])
  return { now, isOnline }
}
