/** Whether a path has the segments `.` or `..`, however often they are encoded: some server on the way may resolve them. */
export function hasDotSegments(path: string): boolean {
  let decoded = path.split(/[?#]/, 1)[0] ?? ''
  for (let encoded = ''; encoded !== decoded;) {
    encoded = decoded
    decoded = encoded.replaceAll(/%(?:25|2e|2f|5c)/gi, decodeURIComponent)
  }
  return /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/.test(decoded)
}
