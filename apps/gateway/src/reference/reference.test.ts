import { LoginRequest, RefreshRequest, RpcRequest, WalletPath } from '@tollgate/protocol'
import { ApiError, operationsOf, type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { hostileTexts, routesOf, tryBodies, lintErrors } from '@tollgate/testing/reference'
import fc from 'fast-check'
import { assertPayload } from '../rpc/assert-payload'
import { assertResourcePath } from '../rpc/resource-path'
import { cosmosPlanOf } from '../testing/catalog'
import { gatewayContract } from '../testing/contract'
import { testGateway, type TestGateway } from '../testing/gateway'
import { newWebhookPath } from '../testing/webhooks'
import { parseWallet } from '../wallet-address'

let gateway: TestGateway
let document: OpenApiDocument
let contract: ReturnType<typeof gatewayContract>

beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(cosmosPlanOf({ id: 2 }))
  await gateway.reapply()
  document = (await gateway.api.get('/openapi.json').expect(200)).body as OpenApiDocument
  contract = gatewayContract(document)
})
afterAll(closeAll)

describe('GET /openapi.json', () => {
  test('is valid OpenAPI 3.1, and passes the recommended rules of Redocly, for callers at the public address', async () => {
    expect(await lintErrors(document)).toEqual([])
    expect(document.servers).toEqual([{ url: 'https://gateway.example' }])
  })

  test("describes each route, except the page's files and the console", () => {
    const described = operationsOf(document).map(({ method, path }) => `${method} ${path}`)
    expect(described.sort()).toEqual(routesOf(gateway.app.router))
  })

  test('contains examples that its own schemas accept', () => {
    const examples = contract.examples()
    expect(examples.length).toBeGreaterThan(165)
    expect(examples.filter(({ problems }) => problems.length > 0)).toEqual([])
  })

  test('accepts every valid wallet and resource', () => {
    const { wallet } = WalletPath.shape
    const { resource } = RpcRequest.shape
    const notResource = new RegExp(
      document.components.schemas['RpcRequest']!.properties!['resource']!.not!.pattern!,
    )
    fc.assert(
      fc.property(
        fc.oneof(hostileTexts, fc.webPath(), fc.stringMatching(/^0[xX][0-9a-fA-F]{38,42}$/)),
        (text) => {
          if (!wallet.safeParse(text).success) expect(() => parseWallet(text)).toThrow(ApiError)
          if (notResource.test(text)) expect(() => assertResourcePath(text)).toThrow(ApiError)
          // The schema cannot express encoded and other characters.
          else if (/^[^%\x80-\u{10ffff}]*$/u.test(text) && resource.safeParse(text).success)
            assertResourcePath(text)
        },
      ),
      { numRuns: 1_000, examples: [['/a;.']] },
    )
  })
})

describe('the schema of a request body', () => {
  const parsers = { LoginRequest, RefreshRequest, RpcRequest }
  /**
   * JSON Schema counts characters where zod counts UTF-16 units, and cannot express the rules for encoded
   * resources.
   */
  const isPlain = (value: unknown) => !/\\ud[89a-f]|[^\x20-\x7e]|%/.test(JSON.stringify(value))

  test.each(Object.keys(parsers) as (keyof typeof parsers)[])(
    '%s accepts exactly what its parser accepts',
    (name) => {
      const isTaken = (body: unknown) =>
        parsers[name].safeParse(body).success && (name !== 'RpcRequest' || isCall(body as RpcRequest))
      expect(tryBodies({ document, contract, name, isTaken, isTried: isPlain })).toBeGreaterThan(100)
    },
  )

  function isCall(call: RpcRequest): boolean {
    try {
      assertResourcePath(call.resource)
      assertPayload(call)
      return true
    } catch {
      return false
    }
  }
})

describe('each example', () => {
  type Substitutes = Record<string, string>

  async function liveParts(
    operationId: string,
    example: unknown,
  ): Promise<{ token?: string; path?: Substitutes; body: Substitutes }> {
    const wallet = gateway.wallet()
    if (operationId === 'login' && 'pubkey' in (example as object)) {
      const { message, signature, address, pubkey } = await gateway.cosmosWallet().login()
      return { body: { message, signature, address, pubkey } }
    }
    if (operationId === 'login') {
      const { message, signature, address } = await wallet.login()
      return { body: { message, signature, address } }
    }
    if (operationId === 'getPrice') return { body: {} }
    const { token, refresh_token } = await wallet.signIn()
    if (operationId === 'refresh') return { body: { refresh_token } }
    if (operationId.includes('Webhook'))
      return { token, path: await newWebhookPath(gateway, token), body: {} }
    if (/^call|^getFromChain/.test(operationId)) await gateway.fund(wallet.address, 10)
    return { token, body: {} }
  }

  test('of a request is accepted, and gets the documented response', async () => {
    const [plan] = document.components.schemas['PricingPlan']!.examples as { plan_name: string }[]
    Object.assign(gateway.catalog.providers[0]!, { provider_id: 'base-sepolia-main' })
    Object.assign(gateway.catalog.plans[0]!, { plan_name: plan!.plan_name })
    await gateway.reapply()

    const outcomes: unknown[] = []
    for (const { method, path, operation } of operationsOf(document)) {
      const { operationId, parameters = [], requestBody, security } = operation
      const bodies = Object.values(
        requestBody?.content['application/json']?.examples ?? { none: { value: undefined } },
      )
      const given = (place: string) =>
        parameters.filter((parameter) => parameter.in === place && parameter.example !== undefined)
      for (const { value } of bodies) {
        const live = await liveParts(operationId, value)
        const url = given('path').reduce(
          (filled, { name, example }) => filled.replace(`{${name}}`, live.path?.[name] ?? String(example)),
          path,
        )
        const sent = gateway.api[method as 'get'](url).query(
          Object.fromEntries(given('query').map(({ name, example }) => [name, example])),
        )
        if (security.length > 0 && live.token !== undefined)
          void sent.set('Authorization', `Bearer ${live.token}`)
        const { status, headers, text } = await sent.send(
          value === undefined ? undefined : { ...(value as object), ...live.body },
        )
        outcomes.push([
          operationId,
          status,
          contract.problemsOfAnswer(method, path, { status, headers, text }),
        ])
      }
    }
    expect(outcomes.length).toBeGreaterThanOrEqual(22)
    const others: Record<string, number> = {
      getPrice: 402,
      buyCredits: 402,
      createKey: 201,
      deleteKey: 404,
      createWebhook: 201,
      getPayment: 404,
      readPayerAccount: 404,
    }
    expect(outcomes).toEqual(
      outcomes.map((outcome) => {
        const [operationId] = outcome as [string]
        return [operationId, others[operationId] ?? 200, []]
      }),
    )
  })

  test('of a 402 matches the response to a call without credits', async () => {
    const { call } = await gateway.wallet().signIn()
    const { status, headers, text } = await call()
    expect(status).toBe(402)
    expect(contract.problemsOfAnswer('post', '/rpc', { status, headers, text })).toEqual([])
    const [example] = document.components.schemas['PaymentRequired']!.examples as object[]
    expect(Object.keys(JSON.parse(text) as object)).toEqual(Object.keys(example!))
  })
})

describe('GET /docs and /llms.txt', () => {
  test('may be cached, and read by pages of every origin', async () => {
    for (const path of ['/openapi.json', '/docs', '/llms.txt', '/.well-known/x402']) {
      const { headers } = await gateway.api.head(path).set('Origin', 'https://wallet.example').expect(200)
      expect(headers['cache-control']).toMatch(/^public, max-age=\d+$/)
      expect(headers['access-control-allow-origin']).toBe('*')
    }
  })

  test('list each operation', async () => {
    const text = (await gateway.api.get('/llms.txt').expect('Content-Type', /^text\/plain/)).text
    for (const { method, path, operation } of operationsOf(document)) {
      expect(text).toContain(
        `[${method.toUpperCase()} ${path}](https://gateway.example/docs#/${encodeURIComponent(operation.tags[0]!)}/${operation.operationId})`,
      )
    }
  })

  test('allow scripts on that page only', async () => {
    const docs = await gateway.api.get('/docs')
    const other = await gateway.api.get('/llms.txt')
    expect(docs.headers['content-security-policy']).toContain("script-src 'self' 'sha256-")
    expect(other.headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'")
  })

  test("limit requests for the page's files per address", async () => {
    const page = (await gateway.api.get('/docs').expect('Content-Type', /^text\/html/)).text
    const [path = ''] = /docs\/[^"]+\.js/.exec(page) ?? []
    const { headers } = await gateway.api.head(`/${path}`).expect(200)
    expect(headers['ratelimit-policy']).toMatch(/^"reads";/)
  })

  test('explain a paid call, from the nonce to the retry', async () => {
    const { text } = await gateway.api.get('/llms.txt')
    const steps = [
      '/auth/nonce',
      'wants you to sign in.',
      '/auth/login',
      '/rpc',
      'On 402',
      'it in `X-PAYMENT`',
    ]
    const places = steps.map((step) => text.indexOf(step))
    expect(places).toEqual([...places].sort((one, other) => one - other))
    expect(places[0]).toBeGreaterThan(0)
    expect(text).toMatch(
      /POST https:\/\/gateway\.example\/v1\/[^]+ 402[^]+`PAYMENT-SIGNATURE`[^]+\/auth\/nonce/,
    )
    for (const link of ['/openapi.json', '/docs', '/.well-known/x402'])
      expect(text).toContain(`](https://gateway.example${link}): `)
  })
})
