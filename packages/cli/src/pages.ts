import { type Page, type PageOptions } from '@tollgate/wallet'
import { UsageError } from './exit-codes'

/** The most that the gateway answers at once. */
const PAGE_SIZE = 100
const DEFAULT_LIMIT = 20

export type PagingOptions = { limit?: string; before?: string; all?: boolean }

/**
 * As many records as are wanted, newest first, by as many requests as that takes.
 *
 * @throws UsageError
 */
export async function readPages<T extends { id: string | number }>(
  readPage: (page: PageOptions) => Promise<Page<T>>,
  { limit, before, all = false }: PagingOptions,
): Promise<Page<T>> {
  const most = all ? Number.POSITIVE_INFINITY : parseLimit(limit)
  const data: T[] = []
  let last: string | number | undefined = before
  for (;;) {
    const size = Math.min(PAGE_SIZE, most - data.length)
    const page = await readPage({ limit: size, ...(last === undefined ? {} : { before: last }) })
    data.push(...page.data)
    last = page.data.at(-1)?.id
    if (page.data.length < size || data.length >= most) return { data, total: page.total }
  }
}

function parseLimit(text = String(DEFAULT_LIMIT)): number {
  if (/^[1-9][0-9]{0,5}$/.test(text)) return Number(text)
  throw new UsageError('--limit is a number of records, 1 to 999999')
}
