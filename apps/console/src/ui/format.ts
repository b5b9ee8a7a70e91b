/** Exact, without an exponent: 1234500 with 6 decimals is `1.2345`. */
export function formatUnits(amount: bigint, decimals: number): string {
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return `${amount < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}

/** `1234.5`, of any length, in the reader's locale. `Intl` itself may round after 20 digits of a fraction. */
export function exactDecimal(decimal: string, locale?: string): string {
  const [whole = '0', fraction = ''] = decimal.split('.')
  const format = new Intl.NumberFormat(locale)
  if (fraction === '') return format.format(BigInt(whole))
  const point = format.formatToParts(0.5).find(({ type }) => type === 'decimal')?.value ?? '.'
  const sign = whole === '-0' ? '-' : ''
  return (
    sign +
    format.format(BigInt(whole)) +
    point +
    fraction.replaceAll(/\d/g, (digit) => format.format(Number(digit)))
  )
}

/** Exact, in the reader's locale. */
export const exactUnits = (amount: bigint, decimals: number, locale?: string): string =>
  exactDecimal(formatUnits(amount, decimals), locale)

const SHOWN_DIGITS = 6

/** In the reader's locale, rounded to six digits, but never a part of a whole unit away: for reading, not for computing. */
export function readableUnits(amount: bigint, decimals: number, locale?: string): string {
  const exact = formatUnits(amount, decimals) as `${number}`
  const wholeDigits = exact.replace('-', '').split('.')[0]?.replace(/^0$/, '').length ?? 0
  const options: Intl.NumberFormatOptions =
    wholeDigits >= SHOWN_DIGITS ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: SHOWN_DIGITS }
  return new Intl.NumberFormat(locale, options).format(exact)
}

export const readableNumber = (value: number | bigint, locale?: string): string =>
  new Intl.NumberFormat(locale).format(value)

/** `0x036CbD…3dCF7e` */
export const shortened = (text: string, kept = 6): string =>
  text.length <= 2 * kept + 4 ? text : `${text.slice(0, kept + 2)}…${text.slice(-kept)}`

const UNITS: [unit: Intl.RelativeTimeFormatUnit, seconds: number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
]

/** Words are English, as those of the pages, and a reader of English has them as in their own country. */
const wordLocale = (): string | undefined => {
  const own = typeof navigator === 'undefined' ? 'en' : navigator.language
  return own.startsWith('en') ? own : 'en'
}

/** `5 minutes ago`. A month is never `next month`, which may begin tomorrow. */
export function relativeTime(at: Date, now: Date, locale = wordLocale()): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  const unit = UNITS.find(([, size]) => Math.abs(seconds) >= size)
  const isLong = unit?.[0] === 'month' || unit?.[0] === 'year'
  const format = new Intl.RelativeTimeFormat(locale, { numeric: isLong ? 'always' : 'auto' })
  // An age is of whole units; what was set to end in a week ends in 7 days a second later, too.
  const count = (size: number) => (seconds < 0 ? Math.trunc(seconds / size) : Math.round(seconds / size))
  return unit ? format.format(count(unit[1]), unit[0]) : format.format(seconds, 'second')
}

export const exactTime = (at: Date, locale = wordLocale()): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'long' }).format(at)

/** `2026-01-31`, a day in UTC, as `Jan 31`. */
export const shortDay = (day: string, locale = wordLocale()): string =>
  new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(new Date(day))
