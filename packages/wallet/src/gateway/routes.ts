/** The path below the gateway's URL, with the query; undefined for a URL of another server. Both URLs are normalised. */
export const pathBelow = (url: string, target: string): string | undefined =>
  target.startsWith(`${url}/`) ? target.slice(url.length) : undefined

/** A call that credits pay for, unless an access key in its URL does. */
export const isCallPath = (path: string): boolean =>
  /^\/(?:rpc$|v1\/)/.test(path) && !path.includes('/tgk_') && !hasDotSegments(path)

/** A route that changes the account, which `fetch` has no session for. */
export const isAccountPath = (path: string): boolean =>
  /^\/(?:keys|webhooks)(?:[/?]|$)/.test(path) && !hasDotSegments(path)

/** Dot segments that a proxy in front of the gateway could resolve to another route, however often they are encoded. */
function hasDotSegments(path: string): boolean {
  let decoded = path.split(/[?#]/, 1)[0] ?? ''
  for (let encoded = ''; encoded !== decoded;) {
    encoded = decoded
    decoded = encoded.replaceAll(/%(?:25|2e|2f|5c)/gi, decodeURIComponent)
  }
  return /(?:^|[/\\])\.{1,2}(?:[/\\]|$)/.test(decoded)
}
