/** Hundredths of a percent; undefined unless `text` is 0 to 100 with at most two decimals. */
export function readPercent(text: string): number | undefined {
  const [, whole = '', fraction = ''] = /^(\d{1,3})(?:\.(\d{1,2}))?$/.exec(text) ?? []
  const bps = Number(whole + fraction.padEnd(2, '0'))
  return whole !== '' && bps <= 10_000 ? bps : undefined
}

export const percentOf = (bps: number): string => `${bps / 100} %`
