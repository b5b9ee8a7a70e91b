type Cell = string | number | bigint | boolean | Date | null | undefined

/** RFC 4180, with a header line; text that a spreadsheet would run as a formula starts with an apostrophe. */
export const toCsv = <Column extends string>(
  columns: readonly Column[],
  rows: readonly Readonly<Record<Column, Cell>>[],
): string =>
  [columns, ...rows.map((row) => columns.map((column) => row[column]))]
    .map((cells) => `${cells.map(quoted).join(',')}\r\n`)
    .join('')

/** Some spreadsheets separate cells at a semicolon or a tab, too. */
const quoted = (cell: Cell) => {
  const text = textOf(cell)
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const textOf = (cell: Cell) => {
  if (cell instanceof Date) return cell.toISOString()
  return typeof cell === 'string' ? cell.replace(FORMULA, "'$&") : String(cell ?? '')
}

/** First characters of a formula (OWASP, CSV injection), full-width ones too. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
