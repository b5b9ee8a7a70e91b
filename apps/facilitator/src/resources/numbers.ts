const strings = /"[^"\\]*(?:\\.[^"\\]*)*"/g
const numbers = /(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/g

/**
 * Whether every number of the JSON text survives JSON.parse and JSON.stringify. Integers above 2^53 and
 * fractions of more than 15 digits may not.
 */
export function hasExactNumbers(json: string): boolean {
  for (const [text] of json.replace(strings, '').matchAll(numbers))
    if (valueOf(text) !== valueOf(String(Number(text)))) return false
  return true
}

/** The canonical form of a decimal: significant digits and exponent. */
function valueOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    new RegExp(numbers.source).exec(number) ?? []
  const padded = (whole + fraction).replace(/^0+/, '')
  // A regular expression would take quadratic time on runs of zeros.
  let end = padded.length
  while (padded[end - 1] === '0') end--
  const digits = padded.slice(0, end)
  if (digits === '') return '0'
  return `${sign}${digits}e${Number(exponent) - fraction.length + padded.length - digits.length}`
}
