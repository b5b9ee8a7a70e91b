import { type PageOptions } from '@tollgate/wallet'
import { UsageError } from './exit-codes'
import { readPages, type PagingOptions } from './pages'

/** Records 250 to 1, as the gateway pages them. */
function createBook() {
  const asked: PageOptions[] = []
  const readPage = (page: PageOptions) => {
    asked.push(page)
    const { limit = 20, before = 251 } = page
    const first = Number(before) - 1
    const length = Math.min(limit, first)
    return Promise.resolve({ data: Array.from({ length }, (_, i) => ({ id: first - i })), total: 250 })
  }
  return { asked, readPage }
}

test.each<[PagingOptions, number, number, number]>([
  [{}, 250, 231, 1],
  [{ limit: '3' }, 250, 248, 1],
  [{ limit: '3', before: '10' }, 9, 7, 1],
  [{ limit: '150' }, 250, 101, 2],
  [{ limit: '999' }, 250, 1, 3],
  [{ all: true }, 250, 1, 3],
  [{ all: true, before: '201' }, 200, 1, 3],
])('%j', async (options, first, last, requests) => {
  const { asked, readPage } = createBook()
  const { data, total } = await readPages(readPage, options)
  expect([data[0]?.id, data.at(-1)?.id, asked.length, total]).toEqual([first, last, requests, 250])
  expect(data).toHaveLength(first - last + 1)
})

test.each(['0', '-1', 'all', '1.5'])('%s is no limit', async (limit) => {
  await expect(readPages(createBook().readPage, { limit })).rejects.toThrow(UsageError)
})
