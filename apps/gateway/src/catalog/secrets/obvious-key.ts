const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** So many letters and digits in a row are no word. */
const LONG_RUN = /(?=[a-z]*[0-9])[a-z0-9]{20,}/i
/** Letters of both sizes, digits and dashes: base64url, as some providers give keys. */
const MIXED = /^(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[\w-]{20,}$/

const looksLikeKey = (text: string): boolean => UUID.test(text) || LONG_RUN.test(text) || MIXED.test(text)

const KEY_PARAMETER = /^(?:[\w-]*(?:key|token|secret|auth|password)|dkey|auth[\w-]*)$/i

/** The parts of a URL that are keys of an account by their look: segments, labels of the host and values of the query. */
export function obviousKeysIn(url: string): string[] {
  if (!URL.canParse(url)) return []
  const { hostname, pathname, search } = new URL(url)
  const parameters = search
    .slice(1)
    .split('&')
    .map((pair) => pair.split('='))
  return [
    ...[...hostname.split('.'), ...pathname.split('/')].filter(looksLikeKey),
    ...parameters.flatMap(([name = '', ...value]) => {
      const text = value.join('=')
      return text !== '' && (KEY_PARAMETER.test(name) || looksLikeKey(text)) ? [text] : []
    }),
  ]
}

/** The URL as an operator may see it. */
export const withoutObviousKeys = (url: string): string =>
  obviousKeysIn(url).reduce((text, key) => text.replaceAll(key, '[key]'), url)
