import { nextQuery, readCsvPages } from './csv-pages'

test.each([
  [null, undefined],
  ['</api/v1/settlements?limit=2&cursor=a%2Bb>; rel="next"', '?limit=2&cursor=a%2Bb'],
  ['<https://example.com/x?offset=1>; rel=next', '?offset=1'],
  ['</x?cursor=1>; rel="prev"', undefined],
])('the link %j names the query %j', (link, query) => {
  expect(nextQuery(link)).toBe(query)
})

test('reads all pages, with one line of column names', async () => {
  const asked: string[] = []
  const parts = await readCsvPages('/settlements?state=failed', (path) => {
    asked.push(path)
    const isLast = path.includes('cursor')
    return Promise.resolve(
      new Response(isLast ? 'id\r\n1\r\n' : 'id\r\n2\r\n', {
        headers: isLast ? {} : { link: '</settlements?state=failed&cursor=c>; rel="next"' },
      }),
    )
  })
  expect(parts.join('')).toBe('id\r\n2\r\n1\r\n')
  expect(asked).toEqual(['/settlements?state=failed', '/settlements?state=failed&cursor=c'])
})
