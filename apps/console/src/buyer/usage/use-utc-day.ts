import { useEffect, useState } from 'react'
import { DAY_MS } from './usage-bars'

/** The day in UTC, at its first moment; the next one from midnight on. */
export function useUtcDay(): Date {
  const [day, setDay] = useState(() => dayOf(Date.now()))
  useEffect(() => {
    const timer = setTimeout(() => setDay(dayOf(Date.now())), day + DAY_MS - Date.now())
    return () => clearTimeout(timer)
  }, [day])
  return new Date(day)
}

const dayOf = (time: number) => time - (time % DAY_MS)
