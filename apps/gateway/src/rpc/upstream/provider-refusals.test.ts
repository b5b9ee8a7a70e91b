import { gzipSync } from 'node:zlib'
import { classifyAnswer } from './classify-answer'
import {
  errorRefusals,
  gatewayRefusals,
  mediaTypeRefusals,
  statusRefusals,
  textRefusals,
  type RefusalKind,
} from './provider-refusals'

type Given = {
  status?: number
  type?: string
  encoding?: string
  body: unknown
  transport?: 'rpc' | 'rest'
  batch?: boolean
}

function classify({
  status = 200,
  type = 'application/json',
  encoding,
  body,
  transport = 'rpc',
  batch = false,
}: Given) {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return classifyAnswer(
    {
      status,
      headers: { 'content-type': type, 'content-encoding': encoding },
      body: encoding === 'gzip' ? gzipSync(text) : Buffer.from(text),
      rest: undefined,
    },
    { transport, payload: Buffer.from(batch ? ' [{"id":1},{"id":2}]' : '{"id":1}') },
  )
}

const error = (code: number | string, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  id: 1,
  error: { code, message, ...(data === undefined ? {} : { data }) },
})
const result = { jsonrpc: '2.0', id: 1, result: '0x1' }

const refusedErrors: [kind: RefusalKind, code: number | string, message: string][] = [
  ['rate_limit', -32_005, 'project ID request rate exceeded'],
  ['quota', -32_005, 'daily request count exceeded, request rate limited'],
  ['quota', -32_005, 'compute unit quota exceeded'],
  ['rate_limit', '-32005', 'Limit exceeded'],
  ['access', -32_005, 'Whitelist limited'],
  ['query_limit', -32_005, 'query returned more than 10000 results'],
  ['query_limit', -32_005, 'eth_getLogs block range too large, range: 855077, max: 3500'],
  ['query_limit', -32_005, 'Number of requests exceeds max batch size'],
  ['rate_limit', -32_029, 'Rate limit exceeded'],
  ['rate_limit', -32_029, 'slow down'],
  ['rate_limit', 429, 'Your app has exceeded its compute units per second capacity'],
  ['rate_limit', 429, 'The requests per second (RPS) of your requests are higher than your plan allows.'],
  ['access', 401, 'Unauthorized'],
  ['quota', 402, 'Payment Required'],
  ['access', 403, 'Forbidden'],
  ['access', -32_002, 'rejected due to project ID settings'],
  ['access', -32_002, 'Whitelist limited'],
  ['rate_limit', -32_003, 'Cu limited per second'],
  ['query_limit', -32_003, 'response too large'],
  ['rate_limit', -32_004, 'Service rate limited'],
  ['quota', -32_004, 'monthly limit reached'],
  ['access', -32_006, 'Invalid API key'],
  ['access', -32_007, 'API key has expired'],
  ['rate_limit', -32_007, '15/second request limit reached - reduce calls per second'],
  ['rate_limit', -32_009, 'trace_call requests limited to 5/second'],
  ['quota', -32_008, 'Insufficient quota'],
  ['access', -32_011, 'chain "bsc" not in project scope'],
  ['query_limit', -32_012, 'Range too large'],
  ['no_node', -32_015, 'Upstream node timed out'],
  ['access', -32_016, 'Invalid or missing authentication'],
  ['no_node', -32_046, 'Cannot fulfill request'],
  ['query_limit', -32_047, "'fromBlock'-'toBlock' range too large. Max range: 800"],
  ['no_node', -32_055, 'No nodes available'],
  ['plan', -32_604, 'Record not found'],
  ['rate_limit', -32_605, 'Rate Limit'],
  ['access', -32_606, 'Illegal Ip'],
  ['quota', -32_607, 'Call Limit'],
  ['plan', -32_612, 'custom traces are not enabled'],
  ['query_limit', -32_614, 'eth_getLogs is limited to a 10,000 range'],
  ['plan', 30, 'Request timeout on the free tier, please upgrade your tier to the paid one'],
  ['query_limit', 35, 'ranges over 10000 blocks are not supported on freetier'],
  ['query_limit', -32_000, 'ranges over 10000 blocks are not supported on freetier'],
  [
    'query_limit',
    -32_600,
    'You can make eth_getLogs requests with up to a 500 block range. Based on your parameters, this block range should work: [0x1, 0x2]',
  ],
  ['query_limit', -32_602, 'eth_getLogs is limited to 1024 block range'],
  ['query_limit', -32_000, 'block range is too wide'],
  ['query_limit', -32_603, 'eth_getLogs and eth_newFilter are limited to a 10,000 blocks range'],
  ['query_limit', -32_000, 'response size should not greater than 2097152 bytes'],
  ['query_limit', -32_600, 'JSON RPC Request is too large'],
  ['query_limit', -32_600, 'batch too large'],
  ['plan', -32_600, 'trace_block is not available on the Free tier - upgrade to Pay As You Go'],
  ['plan', -32_001, 'rpc method is not whitelisted'],
  ['plan', -32_603, 'Archive requests require a paid plan'],
  ['quota', -32_600, 'Monthly capacity limit exceeded. Visit https://dashboard.alchemy.com/settings/billing'],
  ['quota', -32_001, "You've reached the usage limit for your current plan"],
  ['rate_limit', -32_000, 'Too Many Requests'],
  ['rate_limit', -32_603, 'rate limited'],
  ['rate_limit', -32_000, 'call rate limit exhausted, retry in 10s'],
  ['rate_limit', -32_000, 'Throughput limit reached'],
  ['quota', -32_000, "You've exceeded the RPS limit available on the current plan"],
  ['access', -32_000, 'apikey check; apikey not exist'],
  ['access', -32_000, 'Unspecified origin not on whitelist'],
  ['access', -32_600, 'Must be authenticated!'],
  ['access', -32_000, 'invalid project id'],
  ['no_node', -32_603, 'backend request failed'],
  ['no_node', -32_000, 'no available node'],
  ['no_node', -32_000, 'no servers available'],
  ['no_node', -32_000, 'service temporarily unavailable'],
]

test.each(refusedErrors)('%s: %s %s', (kind, code, message) => {
  const expected = { outcome: 'refused', refusal: kind }
  expect(classify({ body: error(code, message) })).toEqual(expected)
})

test('under another status, in a front’s own words and in part of the forms of JSON-RPC, it is a refusal too', async () => {
  const limited = error(-32_005, 'Rate limit exceeded')
  const refused = { outcome: 'refused', refusal: 'rate_limit' }
  expect(classify({ status: 400, body: limited })).toEqual(refused)
  expect(await classify({ status: 503, body: limited })).toEqual(refused)
  expect(classify({ body: limited, encoding: 'gzip' })).toEqual(refused)
  expect(classify({ body: { ...limited, result: null } })).toEqual(refused)
  expect(classify({ body: { message: 'API rate limit exceeded' } })).toEqual(refused)
  expect(classify({ body: { error: 'Too many requests' } })).toEqual(refused)
  expect(classify({ body: { error: { message: 'Too many requests' } } })).toEqual(refused)
  expect(classify({ type: 'text/plain', body: 'Too many requests, please try again later.' })).toEqual(
    refused,
  )
})

test('every row has an example, and a public page', () => {
  for (const { codes, message, source } of errorRefusals) {
    const examples = refusedErrors.filter(
      ([, code, words]) => (codes?.includes(Number(code)) ?? true) && (message?.test(words) ?? true),
    )
    expect([codes, message, examples.length > 0]).toEqual([codes, message, true])
    expect(source).toMatch(/^https:\/\//)
  }
  for (const { source } of [...statusRefusals, ...mediaTypeRefusals, ...textRefusals, ...gatewayRefusals])
    expect(source).toMatch(/^https:\/\//)
})

test.each<[string, Given, RefusalKind]>([
  ['an HTML page', { type: 'text/html; charset=UTF-8', body: '<!DOCTYPE html><html></html>' }, 'no_answer'],
  [
    'an HTML page under 404',
    { status: 404, type: 'text/html', body: '<html><h1>404 Not Found</h1></html>' },
    'no_answer',
  ],
  [
    'an HTML page that claims to be JSON',
    { body: '<html><body>Attention Required!</body></html>' },
    'no_answer',
  ],
  ['an HTML page without a type', { type: '', body: '\n<!doctype html>' }, 'no_answer'],
  ['a text that claims to be JSON', { body: 'invalid host specified' }, 'no_answer'],
  ['XML', { type: 'application/xml', body: '<Error><Code>AccessDenied</Code></Error>' }, 'no_answer'],
  ['the text of an edge', { type: 'text/plain', body: 'error code: 1015' }, 'rate_limit'],
  ['the text of an edge without a node', { type: 'text/plain', body: 'error code: 1033' }, 'no_node'],
  [
    'a short text about a key',
    { status: 400, type: 'text/plain', body: 'message: API key not found, trace_id: 4b1f' },
    'access',
  ],
  ['a status of its own', { status: 413, type: 'text/plain', body: 'too long' }, 'query_limit'],
  ['a page over REST', { transport: 'rest', type: 'text/html', body: '<html></html>' }, 'no_answer'],
  ['a front over REST', { transport: 'rest', body: { message: 'API rate limit exceeded' } }, 'rate_limit'],
  [
    'a front with a code over REST',
    { transport: 'rest', body: { code: 429, message: 'slow down' } },
    'rate_limit',
  ],
  [
    'a gRPC gateway without a node',
    {
      transport: 'rest',
      status: 500,
      body: { code: 2, message: 'connection error: desc = "transport: Error while dialing"', details: [] },
    },
    'no_node',
  ],
])('%s is a refusal', async (_, given, refusal) => {
  expect(await classify(given)).toEqual({ outcome: 'refused', refusal })
})

test.each<[string, Given]>([
  ['a result', { body: result }],
  ['a result that quotes a refusal', { body: { ...result, result: error(-32_005, 'Too many requests') } }],
  [
    'a revert in the words of a provider',
    { body: error(3, 'execution reverted: Too many requests', '0x08c379a0') },
  ],
  ['a revert under another code', { body: error(-32_000, 'execution reverted: rate limit exceeded') }],
  ['a failure of the virtual machine', { body: error(-32_015, 'VM execution error.', 'Reverted 0x') }],
  [
    'an unknown method',
    { body: error(-32_601, 'the method too_many_requests does not exist/is not available') },
  ],
  ['invalid parameters', { body: error(-32_602, 'invalid argument 0: rate limit exceeded') }],
  ['a nonce too low', { body: error(-32_000, 'nonce too low') }],
  ['a known transaction', { body: error(-32_000, 'already known') }],
  ['a missing block', { body: error(-32_000, 'header not found') }],
  ['a pruned state', { body: error(-32_000, 'missing trie node 1f (path ) state 0x1f is not available') }],
  ['too little gas', { body: error(-32_000, 'gas required exceeds allowance (21000)') }],
  ['a full block', { body: error(-32_000, 'exceeds block gas limit') }],
  ['a stack limit', { body: error(-32_000, 'stack limit reached 1024 (1023)') }],
  ['the limit of a sequencer', { body: error(-32_005, 'sender is over rate limit') }],
  ['a range limit of the node', { body: error(-32_602, 'query exceeds max block range 100000') }],
  [
    'a result limit of the node',
    { body: error(-32_602, 'query exceeds max results 20000, retry with the range 1-2') },
  ],
  [
    'a range limit of an Ethermint node',
    { body: error(-32_000, 'maximum [begin, end] blocks distance: 10000') },
  ],
  [
    'an error of CometBFT',
    { body: error(-32_603, 'Internal error', 'height 9 is not available, lowest height is 10') },
  ],
  [
    'a full mempool',
    { body: error(-32_603, 'Internal error', 'mempool is full: number of txs 5000 (max: 5000)') },
  ],
  [
    'a gRPC error',
    { transport: 'rest', status: 404, body: { code: 5, message: 'tx not found', details: [] } },
  ],
  [
    'a gRPC error in its words',
    { transport: 'rest', status: 400, body: { code: 3, message: 'unauthorized: rate limit', details: [] } },
  ],
  [
    'the routes of CometBFT',
    { type: 'text/html', body: '<html><body><br>Available endpoints:<br></body></html>' },
  ],
  ['a text', { type: 'text/plain', body: '404 page not found' }],
  ['an error in HTML', { status: 404, type: 'text/html', body: '<p>no such block</p>' }],
  ['bytes without a type', { type: '', body: 'ok' }],
])('%s is an answer of the node', async (_, given) => {
  expect(await classify(given)).toMatchObject({ outcome: 'served' })
})

test.each([
  ['an error of the node under 500', { status: 500, body: error(-32_603, 'Internal error') }, 'error'],
  [
    'a gRPC error under 500',
    { transport: 'rest', status: 500, body: { code: 2, message: 'not found' } },
    'error',
  ],
  ['a page under 502', { status: 502, type: 'text/html', body: '<html></html>' }, 'failed'],
] as [string, Given, string][])('%s', async (_, given, outcome) => {
  expect(await classify(given)).toMatchObject({ outcome })
})

describe('a batch', () => {
  const limited = error(-32_005, 'Too many requests')
  test.each<[string, unknown, object]>([
    ['of results', [result, result], { outcome: 'served' }],
    ['that is refused whole', [limited, limited], { outcome: 'refused', refusal: 'rate_limit' }],
    ['that is refused by one error', limited, { outcome: 'refused', refusal: 'rate_limit' }],
    [
      'that is refused by one entry',
      [error(-32_600, 'batch too large')],
      { outcome: 'refused', refusal: 'query_limit' },
    ],
    [
      'that is refused in part',
      [result, limited],
      { outcome: 'refused', refusal: 'rate_limit', batch: { refused: new Map([[1, 'rate_limit']]) } },
    ],
    [
      'with an error of the node',
      [result, error(-32_000, 'header not found')],
      { outcome: 'served', batch: { refused: new Map() } },
    ],
    [
      'that the node refuses',
      error(-32_600, 'invalid request'),
      { outcome: 'served', batch: { responses: [{ id: 1 }] } },
    ],
  ])('%s', async (_, body, expected) => {
    expect(await classify({ batch: true, body })).toMatchObject(expected)
    expect(await classify({ batch: true, body, encoding: 'gzip' })).toMatchObject(expected)
  })
})
