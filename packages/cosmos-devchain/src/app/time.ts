/** Go's JSON format of a UTC time: RFC 3339 with nanoseconds, no trailing zeros. */
export function goTime({ seconds, nanos }: { seconds: bigint; nanos: number }): string {
  const whole = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  const fraction = nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`
  return `${whole}${fraction}Z`
}

/** Go's zero time. */
export const ZERO_TIME_MS = Date.parse('0001-01-01T00:00:00Z')

/** Go's `String()` of a UTC time. */
export const goTimeText = (timestamp: { seconds: bigint; nanos: number }): string =>
  goTime(timestamp).replace('T', ' ').replace('Z', ' +0000 UTC')

export const timestampOf = (milliseconds: number) => ({
  seconds: BigInt(Math.floor(milliseconds / 1000)),
  nanos: Math.round((milliseconds % 1000) * 1_000_000),
})
