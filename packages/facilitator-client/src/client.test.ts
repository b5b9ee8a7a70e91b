import { SettlementAnswer, SettlementPage } from '@tollgate/protocol'
import { gzipSync } from 'node:zlib'
import { createFacilitatorClient } from './client'
import {
  asset,
  calls,
  clientId,
  clientOf,
  clientToken,
  everyCall,
  failureOf,
  kind,
  request,
  settled,
  verified,
  type Call,
} from './testing/client'
import { closeAll, closeLater, json, startServer } from './testing/servers'

afterEach(closeAll)

const exampleOf = (schema: { meta(): Record<string, unknown> | undefined }) =>
  (schema.meta()!['examples'] as [unknown])[0]

const key = { 'x-client-id': clientId, 'x-client-token': clientToken }

describe('each call sends the client key and returns the response unchanged', () => {
  test.each<[Call, { method: string; path: string; sends?: unknown; answer: unknown; gives: unknown }]>([
    ['verify', { method: 'POST', path: '/verify', sends: request, answer: verified, gives: verified }],
    ['settle', { method: 'POST', path: '/settle', sends: request, answer: settled, gives: settled }],
    ['supported', { method: 'GET', path: '/supported', answer: { kinds: [kind] }, gives: [kind] }],
    ['networks', { method: 'GET', path: '/networks', answer: { kinds: [kind] }, gives: [kind] }],
    ['assets', { method: 'GET', path: '/assets', answer: { data: [asset] }, gives: [asset] }],
  ])('%s', async (call, { method, path, sends, answer, gives }) => {
    const server = await startServer((res) => json(res, 200, answer))
    expect(await calls[call](clientOf(server.url))).toEqual(gives)
    expect(server.asked).toHaveLength(1)
    const [asked] = server.asked
    expect(asked).toMatchObject({ method, path: `/api/v1${path}`, headers: key })
    expect(asked?.body === '' ? undefined : JSON.parse(asked?.body ?? '')).toEqual(sends)
  })

  test('only settle sends an idempotency key', async () => {
    const others = { kinds: [kind], data: [asset], ...verified }
    const server = await startServer((res) =>
      json(res, 200, res.req.url === '/api/v1/settle' ? settled : others),
    )
    const client = clientOf(server.url)
    for (const call of everyCall) await calls[call](client)
    expect(server.asked.map(({ headers }) => headers['idempotency-key'])).toEqual(
      everyCall.map((call) => (call === 'settle' ? 'order-1' : undefined)),
    )
  })

  test.each([
    ['request-1', 'request-1'],
    [undefined, undefined],
    ['two\r\nlines', undefined],
    ['x'.repeat(65), undefined],
  ])('settle sends the request id if it is valid: %j', async (requestId, sent) => {
    const server = await startServer((res) => json(res, 200, settled))
    await clientOf(server.url).settle(request, { idempotencyKey: 'order-1', requestId })
    expect(server.asked.map(({ headers }) => headers['x-request-id'])).toEqual([sent])
  })

  test('verify and settle send more headers of the caller, which replace none of their own', async () => {
    const server = await startServer((res) =>
      json(res, 200, res.req.url === '/api/v1/settle' ? settled : verified),
    )
    const client = clientOf(server.url)
    const more = { traceparent: 'of-the-caller', 'X-CLIENT-TOKEN': 'another', 'idempotency-key': 'another' }
    await client.verify(request, { headers: more })
    await client.settle(request, { idempotencyKey: 'order-1', headers: more })
    for (const { headers } of server.asked)
      expect(headers).toMatchObject({ ...key, traceparent: 'of-the-caller' })
    expect(server.asked[1]?.headers['idempotency-key']).toBe('order-1')
  })

  test('a refused payment is a result, not an error', async () => {
    const refused = {
      ...settled,
      success: false,
      transaction: '',
      payer: '',
      errorReason: 'insufficient_funds',
    }
    const server = await startServer((res) => json(res, 200, refused))
    expect(await calls.settle(clientOf(server.url))).toEqual(refused)
  })
})

describe('the settlements of the client key', () => {
  const page = SettlementPage.parse(exampleOf(SettlementPage))
  const { data: details } = SettlementAnswer.parse(exampleOf(SettlementAnswer))

  test('are listed with the filters in the query', async () => {
    const server = await startServer((res) => json(res, 200, page))
    const { list } = clientOf(server.url).settlements
    expect(await list({ payer: '0xa', nonce: '0x1', limit: 2 })).toEqual(page.data)
    expect(await list()).toEqual(page.data)
    expect(server.asked).toMatchObject([
      { method: 'GET', path: '/api/v1/settlements?payer=0xa&nonce=0x1&limit=2', headers: key },
      { method: 'GET', path: '/api/v1/settlements', headers: key },
    ])
  })

  test('are read by a reference, in one segment of the path', async () => {
    const server = await startServer((res) => json(res, 200, { data: details }))
    expect(await clientOf(server.url).settlements.get('../0xa?b')).toEqual(details)
    expect(server.asked).toMatchObject([{ path: '/api/v1/settlements/..%2F0xa%3Fb', headers: key }])
  })

  test('are undefined if the facilitator knows none', async () => {
    const server = await startServer((res) => json(res, 404, { code: 'NOT_FOUND', message: 'none' }))
    expect(await clientOf(server.url).settlements.get('7')).toBeUndefined()
  })

  test.each([
    [400, 'INVALID_REQUEST', 'rejected'],
    [403, 'FORBIDDEN', 'unauthorized'],
    [404, 'SOMETHING_ELSE', 'unknown'],
    [500, 'INTERNAL_ERROR', 'unknown'],
  ])('status %d %s is %s', async (status, code, kindOfError) => {
    const server = await startServer((res) => json(res, status, { code, message: 'as the server says' }))
    const { list, get } = clientOf(server.url).settlements
    for (const result of [list(), get('7')])
      expect(await failureOf(result)).toMatchObject({ kind: kindOfError, status, code })
  })
})

describe('a call without a result is a FacilitatorError whose kind says whether it may have been executed', () => {
  test.each([
    [400, 'INVALID_REQUEST', 'rejected'],
    [400, 'INVALID_PAYLOAD', 'rejected'],
    [400, 'SOMETHING_ELSE', 'unknown'],
    [401, 'UNAUTHORIZED', 'unauthorized'],
    [403, 'FORBIDDEN', 'unauthorized'],
    [404, 'NOT_FOUND', 'unknown'],
    [500, 'SETTLEMENT_FAILED', 'unknown'],
    [500, 'INVALID_REQUEST', 'unknown'],
  ])('status %d %s is %s, without a retry', async (status, code, kindOfError) => {
    const server = await startServer((res) => json(res, status, { code, message: 'as the server says' }))
    for (const call of everyCall) {
      const error = await failureOf(calls[call](clientOf(server.url)))
      expect(error).toMatchObject({ kind: kindOfError, status, code })
    }
    expect(server.asked).toHaveLength(everyCall.length)
  })

  test("the server's message, which may contain the key, is not repeated", async () => {
    const server = await startServer((res) => json(res, 400, { code: clientToken, message: clientToken }))
    const error = await failureOf(calls.settle(clientOf(server.url)))
    expect(error).toMatchObject({ kind: 'unknown', status: 400, code: undefined })
  })

  test.each<[string, string]>([
    ['no JSON', '<html>Welcome to nginx</html>'],
    ['JSON of another kind', '[]'],
    ['null', 'null'],
    ['nothing', ''],
    ['the answer wrapped in another', JSON.stringify({ data: { ...settled, ...verified } })],
    ['members of other types', JSON.stringify({ ...settled, ...verified, success: 'true', isValid: 'true' })],
    ['half an answer', '{"success":true,"transac'],
  ])('a 200 that holds %s is unknown', async (_, body) => {
    const server = await startServer((res) =>
      res.writeHead(200, { 'content-type': 'application/json' }).end(body),
    )
    for (const call of everyCall)
      expect(await failureOf(calls[call](clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
    expect(server.asked).toHaveLength(everyCall.length)
  })

  test.each([201, 202, 203])('status %d is not a result, whatever its body', async (status) => {
    const server = await startServer((res) => json(res, status, settled))
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({ kind: 'unknown', status })
  })

  test('an invalid idempotency key is rejected without a request', async () => {
    const server = await startServer((res) => json(res, 200, settled))
    const client = clientOf(server.url)
    for (const idempotencyKey of ['', 'a b', 'ключ', 'a\r\nX-Admin: 1', 'a'.repeat(129)])
      expect(await failureOf(client.settle(request, { idempotencyKey }))).toMatchObject({ kind: 'rejected' })
    expect(server.asked).toEqual([])
  })
})

describe('the client key', () => {
  test.each([301, 302, 307, 308])('does not follow a redirect (%d) elsewhere', async (status) => {
    const elsewhere = await startServer((res) => json(res, 200, settled))
    const server = await startServer((res) =>
      json(res, status, {}, { location: `${elsewhere.url}/api/v1/settle` }),
    )
    for (const call of everyCall)
      expect(await failureOf(calls[call](clientOf(server.url)))).toMatchObject({ kind: 'unknown', status })
    expect(elsewhere.asked).toEqual([])
    expect(server.asked).toHaveLength(everyCall.length)
  })

  test('is not sent to a proxy from the environment', async () => {
    const proxy = await startServer((res) => json(res, 200, settled))
    const server = await startServer((res) => json(res, 200, settled))
    const before = { ...process.env }
    closeLater(() => (process.env = before))
    for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY'])
      process.env[name] = process.env[name.toLowerCase()] = proxy.url
    delete process.env['NO_PROXY']
    delete process.env['no_proxy']
    expect(await calls.settle(clientOf(server.url))).toEqual(settled)
    expect([proxy.asked.length, server.asked.length]).toEqual([0, 1])
  })

  test.each([
    ['an empty id', '', 'token'],
    ['an empty token', 'client', ''],
    ['a line break in the token', 'client', `${clientToken}\n`],
    ['letters that no header can carry', 'ключ', clientToken],
  ])('with %s makes no client, and is not repeated in the error', (_, id, token) => {
    const create = () =>
      createFacilitatorClient({ url: 'http://127.0.0.1:1', clientId: id, clientToken: token })
    expect(create).toThrow(TypeError)
    expect(create).not.toThrow(clientToken)
  })
})

describe('an oversized response', () => {
  test('is aborted at the maximum size', async () => {
    let isCutOff = false
    const server = await startServer((res) => {
      res.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (!isCutOff && res.write(Buffer.alloc(65_536, ' ')));
      }
      res.on('drain', more).once('close', () => (isCutOff = true))
      more()
    })
    const error = await failureOf(calls.settle(clientOf(server.url)))
    expect(error).toMatchObject({ kind: 'unknown' })
    expect(error.message).not.toContain('within')
    expect(server.asked).toHaveLength(1)
  })

  test('is aborted at the maximum size after decompression', async () => {
    const bomb = gzipSync(Buffer.concat([Buffer.from(JSON.stringify(settled)), Buffer.alloc(8 << 20, ' ')]))
    const server = await startServer((res) =>
      res.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(bomb),
    )
    expect(await failureOf(calls.settle(clientOf(server.url)))).toMatchObject({ kind: 'unknown' })
  })
})
