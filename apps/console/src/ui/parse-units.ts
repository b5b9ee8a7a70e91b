/** What a reader wrote, in smallest units: `0.01` with 6 decimals is 10000. Undefined if it is no such amount. */
export function parseUnits(text: string, decimals: number): bigint | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,60})(?:[.,](\d{1,77}))?$/.exec(text.trim()) ?? []
  const significant = fraction.replace(/0+$/, '')
  if (whole === '' || significant.length > decimals) return undefined
  return BigInt(whole + significant.padEnd(decimals, '0'))
}
