import { clientId, clientOf, clientToken, failureOf, foundSettlement, reference } from './testing/client'
import { closeAll, json, startServer } from './testing/servers'

afterEach(closeAll)

const listOf = (...ids: string[]) => ({
  data: { settlements: ids.map((id) => ({ id, more: 1 })), next: null },
})
const details = { data: { ...foundSettlement, id: '42', timeline: [] } }

/** A facilitator with these settlements, newest first. */
const serverOf = (ids: string[], answer: unknown = details) =>
  startServer((res) => json(res, 200, res.req.url?.includes('?') ? listOf(...ids) : answer))

test('finds the newest settlement of a payment, with the client key', async () => {
  const { url, asked } = await serverOf(['42', '7'])
  expect(await clientOf(url).findSettlement(reference)).toEqual(foundSettlement)
  const [list, one] = asked.map(({ path }) => new URL(path, url))
  expect([list?.pathname, Object.fromEntries(list?.searchParams ?? [])]).toEqual([
    '/api/v1/settlements',
    reference,
  ])
  expect(one?.pathname).toBe('/api/v1/settlements/42')
  const key = { 'x-client-id': clientId, 'x-client-token': clientToken }
  expect(asked.map(({ headers }) => headers)).toEqual([
    expect.objectContaining(key),
    expect.objectContaining(key),
  ])
})

test('a payment that was not settled is undefined', async () => {
  const { url, asked } = await serverOf([])
  expect(await clientOf(url).findSettlement(reference)).toBeUndefined()
  expect(asked).toHaveLength(1)
})

test.each([
  [403, { code: 'FORBIDDEN' }, 'unauthorized'],
  [404, { code: 'NOT_FOUND' }, 'unknown'],
  [503, { code: 'UNAVAILABLE' }, 'unknown'],
  [200, { data: { settlements: 'none' } }, 'unknown'],
])('an answer of %i %j is an error, without another attempt', async (status, body, kind) => {
  const { url, asked } = await startServer((res) => json(res, status, body))
  expect(await failureOf(clientOf(url).findSettlement(reference))).toMatchObject({ kind })
  expect(asked).toHaveLength(1)
})

test('a settlement of another shape is an error', async () => {
  const { url } = await serverOf(['42'], { data: { state: 'pending' } })
  expect(await failureOf(clientOf(url).findSettlement(reference))).toMatchObject({ kind: 'unknown' })
})

test('a silent facilitator is an error within its time', async () => {
  const { url } = await startServer(() => undefined)
  expect(await failureOf(clientOf(url).findSettlement(reference))).toMatchObject({
    kind: 'unknown',
    message: expect.stringContaining('2000 ms') as string,
  })
})
