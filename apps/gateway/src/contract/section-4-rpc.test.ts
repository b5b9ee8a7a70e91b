import { encodeJson, type PaymentRequired } from '@tollgate/protocol'
import { request } from 'undici'
import { balanceOf } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { NON_STRINGS, nonEnumValues, typesOf, findAcceptedValues } from '../testing/fields'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { paymentHeader, signPayment, usdc, x402 } from '../testing/payment'
import { answers, startUpstream, type Answer } from '../testing/upstream'
import { type TestSession, type TestWallet } from '../testing/wallet'

let gateway: TestGateway
let wallet: TestWallet
let session: TestSession
beforeAll(async () => {
  gateway = await testGateway()
  wallet = gateway.wallet()
  await gateway.fund(wallet.address, 1_000)
  session = await wallet.signIn()
})
afterAll(() => auditAndClose(gateway))

const good = {
  ecosystem: 'evm',
  chain_id: '84532',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload: { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] },
}
const post = (headers: Record<string, string>, body?: object | string) =>
  gateway.api.post('/rpc').set(headers).send(body)
const bearer = () => ({ authorization: `Bearer ${session.token}` })
const balance = () => balanceOf(gateway.ledger, wallet.address)
const terms = { payTo: planOf().pay_to, amount: planOf().amount }

async function servedBy(answer: Answer = answers.result()) {
  const [rpc, rest] = [await startUpstream(answer), await startUpstream(answer)]
  const chain_id = await gateway.chain({ rpc: [`${rpc.url}/v2/key`], rest: [`${rest.url}/lcd`] })
  return { chain_id, rpc, rest }
}

describe('4. POST /rpc, headers', () => {
  test('Authorization | required | `Bearer <ACCESS_TOKEN>`', async () => {
    for (const headers of [{}, { authorization: session.token }, { authorization: `Basic ${session.token}` }])
      expect(outcomeOf(await post(headers, good))).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await post(bearer(), good))).toEqual([200, undefined])
  })

  test('Content-Type | required | `application/json`', async () => {
    const text = JSON.stringify(good)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp'])
      expect(outcomeOf(await post({ ...bearer(), 'content-type': type }, text))).toEqual([
        400,
        'INVALID_REQUEST',
      ])
    const untyped = await request(`${gateway.url}/rpc`, { method: 'POST', headers: bearer(), body: text })
    expect(untyped.statusCode).toBe(400)
    await untyped.body.dump()
    const typed = await post({ ...bearer(), 'content-type': 'application/json; charset=utf-8' }, text)
    expect(outcomeOf(typed)).toEqual([200, undefined])
  })

  test.each([
    ['raw signed payment authorization, as for `siwe`', JSON.stringify],
    [
      'base64 of `paymentPayload` and `paymentRequirements`, as for `siwc`',
      (signed) =>
        encodeJson({ paymentPayload: x402(signed), paymentRequirements: { maxAmountRequired: '1' } }),
    ],
    ['x402 version 1 payload in base64', paymentHeader],
  ] satisfies [string, (signed: Awaited<ReturnType<typeof signPayment>>) => string][])(
    'X-PAYMENT | optional | %s',
    async (_, write) => {
      const payer = gateway.wallet()
      const { call } = await payer.signIn()
      await call().expect(402)
      await call({ payment: write(await signPayment(payer.signer, terms)) }).expect(200)
      expect(await balanceOf(gateway.ledger, payer.address)).toBe(99n)
    },
  )

  test.each(['nonsense', '{}', 'e30=', 'bnVsbA==', '{"signature":5}'])(
    'X-PAYMENT | %s is no proof: 400',
    async (payment) => {
      const asked = gateway.facilitator.calls.length
      expect(outcomeOf(await session.call({ payment }))).toEqual([400, 'INVALID_REQUEST'])
      expect(gateway.facilitator.calls).toHaveLength(asked)
    },
  )
})

describe('4. POST /rpc, request body', () => {
  const rows: [string, string, readonly unknown[]][] = [
    ['ecosystem', 'string', [...nonEnumValues('evm', 'cosmos'), 'solana']],
    ['chain_id', 'string', [...NON_STRINGS, 84532]],
    [
      'resource',
      'string',
      [null, 5, true, {}, [], '../x', '//evil', 'http://evil', '@evil', 'a\r\nb', '%2e%2e/x', '\\x'],
    ],
    ['method', 'string', [...nonEnumValues('GET', 'POST'), 'get', 'PUT', 'DELETE', 'CONNECT']],
    ['transport', 'string', [...nonEnumValues('rpc', 'rest'), 'ws']],
    ['payload', 'object', [null, 5, true, 'x', '', [], [5]]],
  ]
  test.each(rows)('%s | %s | required: yes', async (field, _, wrong) => {
    const [credits, asked] = [await balance(), gateway.upstream.requests.length]
    const send = (body: object) => post(bearer(), body)
    expect(await findAcceptedValues(send, good, field, { required: true, wrong })).toEqual([])
    expect([await balance(), gateway.upstream.requests.length]).toEqual([credits, asked])
    expect(outcomeOf(await send(good))).toEqual([200, undefined])
  })

  test.each([
    ['a plain JSON-RPC request', good.payload, true],
    ['a batch of them', [good.payload], true],
    ['an empty object', {}, false],
  ])('%s is 400; only the answer to JSON-RPC names its URL', async (_, body, hasHint) => {
    const answer = await post(bearer(), body)
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    const { message } = answer.body as { message: string }
    expect(message.endsWith('; send plain JSON-RPC to POST /v1/{chain}')).toBe(hasHint)
  })

  test.each([
    ['ecosystem', { ecosystem: 'cosmos' }],
    ['chain_id', { chain_id: '1' }],
  ])('%s | string | one that no provider serves is 404, and costs nothing', async (_, changes) => {
    const credits = await balance()
    expect(outcomeOf(await session.call(changes))).toEqual([404, 'NOT_FOUND'])
    expect(await balance()).toBe(credits)
  })

  test('chain_id | string | target chain: the call goes to its provider', async () => {
    const [one, other] = [await servedBy(), await servedBy()]
    await session.call({ chain_id: other.chain_id }).expect(200)
    expect([one.rpc.requests.length, other.rpc.requests.length]).toEqual([0, 1])
  })

  test.each([
    ['', '/v2/key'],
    ['status', '/v2/key/status'],
    ['/a/b?x=1&y=2', '/v2/key/a/b?x=1&y=2'],
  ])('resource | string | %j is appended to the provider base URL: %s', async (resource, url) => {
    const { chain_id, rpc } = await servedBy()
    await session.call({ chain_id, resource }).expect(200)
    expect(rpc.requests.map((seen) => seen.url)).toEqual([url])
  })

  test.each(['POST', 'GET'])('method | string | %s is forwarded unchanged', async (method) => {
    const { chain_id, rpc } = await servedBy()
    await session.call({ chain_id, method }).expect(200)
    expect(rpc.requests.map((seen) => seen.method)).toEqual([method])
  })

  test.each(['rpc', 'rest'] as const)(
    'transport | string | `%s` goes to those base URLs',
    async (transport) => {
      const { chain_id, ...upstreams } = await servedBy()
      await session.call({ chain_id, transport }).expect(200)
      expect([upstreams.rpc.requests.length, upstreams.rest.requests.length]).toEqual(
        transport === 'rpc' ? [1, 0] : [0, 1],
      )
    },
  )

  test('transport | string | one that the provider does not serve is 404', async () => {
    const chain_id = await gateway.chain({ rpc: [gateway.upstream.url] })
    expect(outcomeOf(await session.call({ chain_id, transport: 'rest' }))).toEqual([404, 'NOT_FOUND'])
  })

  test.each(['{}', '{"id":9007199254740993,"x":1.0,"y":"\\u00e9"}', '[{"method":"a"},{"method":"b"}]'])(
    'payload | object | %s is the body forwarded to the provider',
    async (payload) => {
      const { chain_id, rpc } = await servedBy()
      const text = JSON.stringify({ ...good, chain_id, payload: 'HERE' }).replace('"HERE"', payload)
      await post({ ...bearer(), 'content-type': 'application/json' }, text).expect(200)
      expect(rpc.requests.map(({ body }) => body.toString())).toEqual([payload])
      expect(rpc.requests[0]?.headers['content-type']).toBe('application/json')
    },
  )
})

describe('4. POST /rpc, rule 1: the upstream response is returned unchanged', () => {
  test.each([
    [200, 'application/json', '{"result":"0x1"}'],
    [201, 'text/plain; charset=utf-8', 'made'],
    [400, 'application/problem+json', '{"title":"no"}'],
    [404, 'text/html', '<p>nothing</p>'],
    [200, 'application/x-protobuf', '\u0000\u0001'],
  ])('status code %d, content type %s, body %j', async (status, type, body) => {
    const { chain_id } = await servedBy((res) => res.writeHead(status, { 'content-type': type }).end(body))
    const answer = await request(`${gateway.url}/rpc`, {
      method: 'POST',
      headers: { ...bearer(), 'content-type': 'application/json' },
      body: JSON.stringify({ ...good, chain_id }),
    })
    expect([answer.statusCode, answer.headers['content-type'], await answer.body.text()]).toEqual([
      status,
      type,
      body,
    ])
  })
})

describe('4. POST /rpc, rule 2: 402 when credits are insufficient and no valid proof is attached', () => {
  const poor = async () => {
    const payer = gateway.wallet()
    return { payer, ...(await payer.signIn()) }
  }

  test('body | `status` (integer 402), `message` (string), `paymentRequirements` (object)', async () => {
    const body: unknown = (await (await poor()).call().expect(402)).body
    expect(body).toMatchObject({ status: 402 })
    expect(typesOf(body)).toMatchObject({ status: 'integer', message: 'string', paymentRequirements: {} })
  })

  const rows: [string, string, unknown][] = [
    ['scheme', 'string', 'exact'],
    ['network', 'string, holds the chain id of the plan', '84532'],
    ['asset', 'string', usdc],
    ['maxAmountRequired', 'string, smallest-unit amount', '10000'],
    ['mimeType', 'string, `application/json`', 'application/json'],
    ['payTo', 'string', terms.payTo],
    ['maxTimeoutSeconds', 'integer, seconds', 60],
    ['description', 'string naming the credits obtained', expect.stringContaining('100 credits')],
  ]
  test.each(rows)('2. Payment requirements | %s | %s', async (field, _, value) => {
    const body: unknown = (await (await poor()).call().expect(402)).body
    const { paymentRequirements } = body as PaymentRequired
    expect(paymentRequirements[field as keyof typeof paymentRequirements]).toEqual(value)
    expect(Object.keys(paymentRequirements).sort()).toEqual(rows.map(([name]) => name).sort())
  })

  test('a proof that the facilitator refuses is invalid', async () => {
    const { payer, call } = await poor()
    const asked = gateway.upstream.requests.length
    const payment = paymentHeader(await signPayment(payer.signer, { ...terms, amount: '9999' }))
    const body: unknown = (await call({ payment }).expect(402)).body
    expect((body as PaymentRequired).message).toContain('invalid_exact_evm_payload_authorization_value')
    expect([gateway.upstream.requests.length, await balanceOf(gateway.ledger, payer.address)]).toEqual([
      asked,
      0n,
    ])
  })

  test('a proof that another wallet signed is invalid', async () => {
    const [{ call }, settled] = [await poor(), gateway.facilitator.settlements.length]
    await call({ payment: await gateway.wallet().pay() }).expect(402)
    expect(gateway.facilitator.settlements).toHaveLength(settled)
  })

  test('a balance below the cost of the call is insufficient', async () => {
    const { payer, call } = await poor()
    await gateway.fund(payer.address, 1)
    await call({ payload: [good.payload, good.payload] }).expect(402)
    expect(await balanceOf(gateway.ledger, payer.address)).toBe(1n)
  })
})

describe('4. POST /rpc, rules 3 and 4', () => {
  test('rule 3 | with a proof: verified and settled on-chain, credits issued, the call executed, in one request', async () => {
    const payer = gateway.wallet()
    const { call } = await payer.signIn()
    const { chain_id, rpc } = await servedBy()
    const before = gateway.facilitator.settlements.length
    const answer = await call({ chain_id, payment: await payer.pay() }).expect(200)
    expect(gateway.facilitator.settlements.slice(before)).toEqual([
      expect.objectContaining({
        request: expect.objectContaining({
          paymentRequirements: expect.objectContaining({
            maxAmountRequired: '10000',
            payTo: terms.payTo,
            asset: usdc,
          }) as object,
        }) as object,
      }),
    ])
    expect(rpc.requests).toHaveLength(1)
    expect(answer.headers).toMatchObject({ 'x-credits-charged': '1', 'x-credits-remaining': '99' })
    expect(answer.headers['x-payment-response']).toBeDefined()
  })

  test('rule 3 | with the same proof again: nothing is settled or issued twice', async () => {
    const payer = gateway.wallet()
    const { call } = await payer.signIn()
    const payment = await payer.pay()
    const before = gateway.facilitator.settlements.length
    for (let calls = 0; calls < 3; calls++) await call({ payment }).expect(200)
    expect(gateway.facilitator.settlements).toHaveLength(before + 1)
    expect(await balanceOf(gateway.ledger, payer.address)).toBe(97n)
  })

  test('rule 4 | read `paymentRequirements`, pay `payTo` in that asset, send the proof, resend the same request', async () => {
    const payer = gateway.wallet()
    const { call } = await payer.signIn()
    const { paymentRequirements: read } = (await call().expect(402)).body as PaymentRequired
    expect([read.asset, read.network]).toEqual([usdc, '84532'])
    const signed = await signPayment(payer.signer, { payTo: read.payTo, amount: read.maxAmountRequired })
    await call({ payment: paymentHeader(signed) }).expect(200)
    await call().expect(200)
  })
})
