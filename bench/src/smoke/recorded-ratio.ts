import { join } from 'node:path'
import { root } from '../machine'
import { readRows } from '../report'

export const SMOKE = 'smoke'
/** A measurement varies by a twentieth; a fall by a third must fail for certain. */
const LOWEST_SHARE = 0.72

/** What `pnpm bench smoke` recorded. */
export function recordedRatio(): number {
  const ratio = readRows(join(root, 'docs')).find(({ benchmark }) => benchmark === SMOKE)?.ratio
  if (ratio === undefined || ratio === null)
    throw new Error('docs/benchmarks.json has no ratio of the smoke run: record it with `pnpm bench smoke`')
  return ratio
}

export const lowestRatio = (recorded: number) => LOWEST_SHARE * recorded
