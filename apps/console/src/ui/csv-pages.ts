/** `cursor` of the next page, as the header `Link` has it. */
export function nextCursor(link: string | null): string | undefined {
  const [, target] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? '') ?? []
  if (target === undefined) return undefined
  return new URL(target, 'http://localhost').searchParams.get('cursor') ?? undefined
}

const withCursor = (path: string, cursor: string) =>
  `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}`

const withoutHeader = (csv: string) => csv.slice(csv.indexOf('\n') + 1)

/** The texts of all pages, the names of the columns only in the first. */
export async function readCsvPages(
  path: string,
  get: (path: string) => Promise<Pick<Response, 'headers' | 'text'>>,
): Promise<string[]> {
  const parts: string[] = []
  let page: string | undefined = path
  while (page !== undefined) {
    const response = await get(page)
    const csv = await response.text()
    parts.push(parts.length === 0 ? csv : withoutHeader(csv))
    const cursor = nextCursor(response.headers.get('link'))
    page = cursor === undefined ? undefined : withCursor(path, cursor)
  }
  return parts
}
