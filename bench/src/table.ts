/** A table in Markdown, aligned as the formatter wants it. */
export function markdownTable(head: string[], rows: readonly string[][]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')))
  const widths = head.map((name, i) => Math.max(3, name.length, ...escaped.map((row) => row[i]?.length ?? 0)))
  const line = (cells: string[]) => `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |\n`
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...escaped.map(line)].join('')
}

/** For example "4 x 200, 1 x 503". */
export const tally = (answers: readonly (number | string)[]): string =>
  [...new Set(answers.map(String))]
    .sort()
    .map((answer) => `${answers.filter((other) => String(other) === answer).length} x ${answer}`)
    .join(', ')
