const strings = /"[^"\\]*(?:\\.[^"\\]*)*"/g
const numbers = /(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?/g

/**
 * Whether every number in a JSON text keeps its value when JSON.parse has read it and JSON.stringify writes it again. An
 * integer past 2^53 may not, nor may a fraction of more than 15 digits.
 */
export function hasExactNumbers(json: string): boolean {
  for (const [text] of json.replace(strings, '').matchAll(numbers))
    if (valueOf(text) !== valueOf(String(Number(text)))) return false
  return true
}

/** One spelling for each decimal value: its digits from the first to the last that is not zero, and the power of ten they count. */
function valueOf(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    new RegExp(numbers.source).exec(number) ?? []
  const padded = (whole + fraction).replace(/^0+/, '')
  // A regular expression would look at each run of zeros again from every zero in it.
  let end = padded.length
  while (padded[end - 1] === '0') end--
  const digits = padded.slice(0, end)
  if (digits === '') return '0'
  return `${sign}${digits}e${Number(exponent) - fraction.length + padded.length - digits.length}`
}
