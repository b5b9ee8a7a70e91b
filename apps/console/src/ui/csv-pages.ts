/** The query of the next page, as the header `Link` has it; its path may be another behind a proxy. */
export function nextQuery(link: string | null): string | undefined {
  const [, target] = /<([^>]*)>\s*;[^,]*\brel="?next"?/.exec(link ?? '') ?? []
  return target === undefined ? undefined : new URL(target, 'http://localhost').search
}

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
    const query = nextQuery(response.headers.get('link'))
    page = query === undefined ? undefined : `${path.split('?', 1)[0]}${query}`
  }
  return parts
}
