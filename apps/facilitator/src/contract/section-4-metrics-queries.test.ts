import { closeAll } from '@tollgate/testing'
import { newUser, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { metricsOf } from '../testing/metrics'

const http = ['/metrics/daily', '/metrics/monthly', '/metrics/summary']
const settled = ['/x402-metrics/daily', '/x402-metrics/monthly', '/x402-metrics/summary']
const paths = [...http, ...settled]

let facilitator: TestFacilitator
let client: ClientHeaders
let metrics: ReturnType<typeof metricsOf>
beforeAll(async () => {
  ;({ facilitator, client } = await facilitatorWithClient())
  metrics = metricsOf(facilitator)
})
afterAll(closeAll)

describe.each(paths)('4. GET %s', (path) => {
  const long = path.endsWith('daily')
    ? { from: '2027-02-01', to: '2028-02-01', over: { from: '2027-01-31', to: '2028-02-01' } }
    : path.endsWith('monthly')
      ? { from: '2020-01-31', to: '2029-12-01', over: { from: '2020-01-31', to: '2030-01-01' } }
      : { from: '0001-01-01', to: '9999-12-31', over: undefined }

  test('auth | bearer user token: 401 UNAUTHORIZED without one, and with a client key', async () => {
    for (const headers of [{}, client, { Authorization: 'Bearer nonsense' }]) {
      const answer = await metrics.ask(headers, path)
      expect([answer.status, (answer.body as { code: string }).code]).toEqual([401, 'UNAUTHORIZED'])
    }
  })

  test('query | from, to | ISO 8601 dates, of the calendar, in order, each once: otherwise 400 INVALID_REQUEST', async () => {
    const { accessToken } = await newUser(facilitator.api)
    const headers = { Authorization: `Bearer ${accessToken}` }
    const days = [
      ...[
        '',
        ' ',
        'yesterday',
        '2027',
        '2027-02',
        '2027-2-1',
        '20270201',
        '2027-02-01T00:00:00Z',
        ' 2027-02-01',
      ],
      ...['2027-02-29', '2100-02-29', '2027-13-01', '2027-00-01', '2027-01-00', '2027-04-31', '0000-01-01'],
      ...['+2027-02-01', '-2027-02-01', '12027-02-01', '２０２７-02-01', "2027-02-01'--", '2027-02-01\u0000'],
    ]
    const queries = [
      ...days.flatMap((day) => [{ from: day }, { to: day }]),
      { from: ['2027-02-01', '2027-02-01'] },
      { to: ['2027-02-01', '2027-02-02'] },
      { from: '2027-02-02', to: '2027-02-01' },
      { from: '9999-01-01', ...(path.endsWith('summary') ? { to: '9998-01-01' } : {}) },
      ...(long.over ? [long.over] : []),
    ]
    for (const query of queries) {
      const answer = await metrics.ask(headers, path, query)
      const { code, message } = answer.body as { code: string; message: string }
      expect([query, answer.status, code]).toEqual([query, 400, 'INVALID_REQUEST'])
      expect(message).toMatch(/\b(from|to)\b/)
    }
  })

  test('query | the longest range there may be', async () => {
    const { accessToken } = await newUser(facilitator.api)
    const { from, to } = long
    const answer = await metrics.ask({ Authorization: `Bearer ${accessToken}` }, path, { from, to })
    expect(answer.status).toBe(200)
  })
})
