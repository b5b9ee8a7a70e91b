const USUAL_SIZE = 30
const LARGEST_SIZE = 100

const pageSize = (wanted: number | undefined) =>
  wanted === undefined || wanted < 1 ? USUAL_SIZE : Math.min(wanted, LARGEST_SIZE)

export function ordered<T>(ascending: T[], order: string): T[] {
  if (order === 'desc') return ascending.toReversed()
  if (order !== 'asc' && order !== '')
    throw new Error('expected order_by to be either `asc` or `desc` or empty')
  return ascending
}

/** Pages count from 1; `total` counts all items. */
export function pageOf<T>(all: T[], page = 1, wanted?: number) {
  const size = pageSize(wanted)
  const pages = Math.max(1, Math.ceil(all.length / size))
  if (page <= 0 || page > pages) throw new Error(`page should be within [1, ${pages}] range, given ${page}`)
  return { items: all.slice((page - 1) * size, page * size), total: String(all.length) }
}
