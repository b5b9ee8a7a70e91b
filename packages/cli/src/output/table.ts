import Table from 'cli-table3'
import { type Colors } from './output'
import { printable } from './printable'

export type Cell = string | number | null | undefined

const NO_BORDERS = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
}

/** Columns under a head; a text instead if there are no rows. */
export function table(
  colors: Colors,
  head: readonly string[],
  rows: readonly (readonly Cell[])[],
  ifEmpty = 'None.',
): string {
  if (rows.length === 0) return ifEmpty
  return render([
    head.map((title) => colors.bold(title)),
    ...rows.map((row) => row.map((cell) => textOf(cell))),
  ])
}

/** A name and a value on each line. */
export const facts = (colors: Colors, pairs: readonly (readonly [string, Cell])[]): string =>
  render(pairs.map(([name, value]) => [colors.bold(name), textOf(value)]))

function render(rows: string[][]): string {
  const drawn = new Table({
    chars: NO_BORDERS,
    style: { 'padding-left': 0, 'padding-right': 0, border: [], head: [] },
  })
  drawn.push(...rows)
  return drawn
    .toString()
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
}

const textOf = (cell: Cell) => (cell === null || cell === undefined ? '' : printable(String(cell)))

/** `2026-11-21T16:51:39.204Z` as `2026-11-21 16:51:39`, UTC. */
export const time = (iso: string | null): string => (iso ?? '').replace('T', ' ').replace(/(\.\d+)?Z$/, '')

/** Unix seconds as `17:58`, UTC, rounded up to the minute. */
export const minuteOf = (seconds: number): string =>
  new Date(Math.ceil(seconds / 60) * 60_000).toISOString().slice(11, 16)
