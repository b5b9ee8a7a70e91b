import express from 'express'
import { EventEmitter, once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import request from 'supertest'
import { toCsv } from './csv'
import { assertPageSize, sendCsv, wantsCsv } from './csv-response'
import { ApiError } from './errors'

const app = express()
app.use('/shop', (req, res) => {
  const next = req.query['last'] === undefined ? { cursor: 'a/b', offset: undefined } : undefined
  void sendCsv(req, res, { name: 'rows', text: toCsv(['id'], [{ id: 7 }]), next })
})
const ended = new EventEmitter()
app.use('/large', (req, res) => {
  const page = { name: 'rows', text: 'x'.repeat(64_000_000), next: undefined }
  void sendCsv(req, res, page, { timeoutMs: 300 }).then(() => ended.emit('one', req.socket.destroyed))
})
app.use('/accepts', (req, res) => {
  res.json(wantsCsv(req))
})
app.use('/limit', (req, res) => {
  try {
    assertPageSize(req, Number(req.query['limit']), { json: 10, csv: 100 })
    res.json('accepted')
  } catch (error) {
    res.json(error instanceof ApiError ? error.message : String(error))
  }
})

test('a page is a file, with a link to the next rows that keeps the rest of the query', async () => {
  const { headers, text } = await request(app).get('/shop/rows?state=settled&cursor=old&offset=5').expect(200)
  expect(text).toBe('id\r\n7\r\n')
  expect(headers['content-type']).toMatch(/^text\/csv\b/)
  expect(headers['content-disposition']).toBe('attachment; filename=rows.csv')
  expect(headers['link']).toBe('</shop/rows?state=settled&cursor=a%2Fb>; rel="next"')
})

test('the last page has no link', async () => {
  const { headers } = await request(app).get('/shop/rows?last=1').expect(200)
  expect(headers['link']).toBeUndefined()
})

test.each([
  ['text/csv', true],
  ['application/json', false],
  ['*/*', false],
  ['application/json, text/csv;q=0.9', false],
  ['text/csv, application/json;q=0.9', true],
])('Accept: %s | CSV: %s', async (accept, isCsv) => {
  expect((await request(app).get('/accepts').set('Accept', accept)).body).toBe(isCsv)
})

const tooMany = 'limit: must be at most 10, or 100 with Accept: text/csv'
test.each([
  ['application/json', 10, 'accepted'],
  ['application/json', 11, tooMany],
  ['text/csv', 100, 'accepted'],
  ['text/csv', 101, tooMany],
])('Accept: %s | %i rows | %s', async (accept, limit, answer) => {
  expect((await request(app).get('/limit').query({ limit }).set('Accept', accept)).body).toBe(answer)
})

test('a client that does not read is cut off', async () => {
  const server = app.listen(0)
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port)
  try {
    const end = once(ended, 'one')
    socket.write('GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect(await end).toEqual([true])
  } finally {
    socket.destroy()
    server.close()
  }
})
