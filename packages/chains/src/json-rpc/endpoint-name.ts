/** A label this long with a digit in it is an account's key at some providers, not a word. */
const KEY_LABEL = /^(?=.*[0-9])[a-z0-9]{20,}$/i

/** What an RPC URL may be called in the open: its host. Path, query and credentials may hold a key. */
export function endpointName(url: string): string {
  const { hostname, port } = new URL(url)
  const name = hostname
    .split('.')
    .map((label) => (KEY_LABEL.test(label) ? '[key]' : label))
    .join('.')
  return port === '' ? name : `${name}:${port}`
}
