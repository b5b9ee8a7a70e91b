import { formatAmount } from '@tollgate/protocol'

/** In the two largest units: `3 min 12 s`. */
export function ageOf(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const [days, hours, minutes] = [whole / 86_400, (whole / 3_600) % 24, (whole / 60) % 60].map(Math.floor)
  if (days) return `${days} d ${hours} h`
  if (hours) return `${hours} h ${minutes} min`
  return minutes ? `${minutes} min ${whole % 60} s` : `${whole} s`
}

/** `2026-11-22 04:31:10 UTC` */
export const timeOf = (time: Date) => `${time.toISOString().slice(0, 19).replace('T', ' ')} UTC`

/** `0x036CbD..3dCF7e` */
export const shortened = (text: string) =>
  text.length <= 18 ? text : `${text.slice(0, 8)}..${text.slice(-6)}`

export const moneyOf = ({ amount, symbol, decimals }: { amount: string; symbol: string; decimals: number }) =>
  `${formatAmount(BigInt(amount), decimals)} ${inOneLine(symbol)}`

/** Removes line breaks and terminal control characters from untrusted text. */
export const inOneLine = (text: string) => text.replace(/[\p{C}\p{Zl}\p{Zp}\s]+/gu, ' ').trim()

export function columns(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)))
  const line = (row: readonly string[]) =>
    row
      .map((word, at) => word.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd()
  return rows.map((row) => `${line(row)}\n`).join('')
}
