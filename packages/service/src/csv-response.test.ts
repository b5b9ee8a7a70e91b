import express from 'express'
import request from 'supertest'
import { toCsv } from './csv'
import { assertPageSize, sendCsv, wantsCsv } from './csv-response'
import { ApiError } from './errors'

const app = express()
app.use('/shop', (req, res) => {
  const next = req.query['last'] === undefined ? { cursor: 'a/b', offset: undefined } : undefined
  sendCsv(req, res, { name: 'rows', text: toCsv(['id'], [{ id: 7 }]), next })
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
