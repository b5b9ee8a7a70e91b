import { formatUnits } from './format'

/** What `locale` writes between thousands, such as a comma in English and a point in German. */
const groupSeparator = (locale?: string): string | undefined =>
  new Intl.NumberFormat(locale, { useGrouping: true })
    .formatToParts(1_234_567)
    .find(({ type }) => type === 'group')?.value

/** `1,000`, which may be a thousand or one: a number with leading zeros has no thousands. */
const isAmbiguous = (text: string, locale?: string): boolean => {
  const [, separator] = /^[1-9]\d{0,2}([.,])\d{3}$/.exec(text) ?? []
  return separator !== undefined && separator === groupSeparator(locale)
}

/**
 * What a reader wrote, in smallest units: `0.01` with 6 decimals is 10000. Undefined if it is no such amount, or if the reader's
 * locale has another meaning for its separator.
 */
export function parseUnits(text: string, decimals: number, locale?: string): bigint | undefined {
  const trimmed = text.trim()
  const [, whole = '', fraction = ''] = /^(\d{1,60})(?:[.,](\d{1,77}))?$/.exec(trimmed) ?? []
  const significant = fraction.replace(/0+$/, '')
  if (whole === '' || significant.length > decimals || isAmbiguous(trimmed, locale)) return undefined
  return BigInt(whole + significant.padEnd(decimals, '0'))
}

/** For a field whose text `parseUnits` reads. */
export const writeUnits = (amount: bigint, decimals: number, locale?: string): string => {
  const text = formatUnits(amount, decimals)
  return groupSeparator(locale) === '.' ? text.replace('.', ',') : text
}
