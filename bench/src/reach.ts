import { type Reach } from './benchmark'

export function isReached(ratio: number, reach: Reach): boolean {
  if ('atLeast' in reach) return ratio >= reach.atLeast
  if ('atMost' in reach) return ratio <= reach.atMost
  return ratio < reach.below
}

export function reachText(reach: Reach): string {
  if ('atLeast' in reach) return `>= ${bound(reach.atLeast)}`
  if ('atMost' in reach) return `<= ${bound(reach.atMost)}`
  return `< ${bound(reach.below)}`
}

const bound = (value: number) => (value < 1 ? value.toFixed(2) : String(value))
