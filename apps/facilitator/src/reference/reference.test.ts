import {
  AssetRegistration,
  AssignRecipientRequest,
  ChangePasswordRequest,
  ClientPath,
  ClientsQuery,
  CreateClientRequest,
  CreateInvitationRequest,
  CreateUserRequest,
  DeleteAccountRequest,
  DeniedAddressesQuery,
  DeniedAddressPath,
  DenyAddressRequest,
  DiscoveryMerchantQuery,
  DiscoveryQuery,
  DiscoveryRootQuery,
  DiscoverySearchQuery,
  InvitationPath,
  InvitationsQuery,
  MetricsQuery,
  NetworkPath,
  PasswordResetPath,
  OperatorAssetPath,
  OperatorAssetsQuery,
  OperatorSettlementPath,
  OperatorSettlementsQuery,
  OperatorUserPath,
  NewWebhook,
  RecipientChallengeRequest,
  RecipientPath,
  RecipientsQuery,
  RecordPath,
  ReserveRecipientRequest,
  ResetPasswordRequest,
  ResourceRegistration,
  ResourcesQuery,
  SessionPath,
  SignUpRequest,
  SettleRequest,
  SettleRequestOfAnyVersion,
  SettleRequestV2,
  UserLogin,
  UsersQuery,
  UserTokenRefresh,
  WebhookChange,
  WebhookDeliveriesQuery,
  WebhookDeliveryPath,
  WebhookPath,
  WebhookReplayRequest,
} from '@tollgate/protocol'
import { operationsOf, type JsonSchema, type OpenApiDocument } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import {
  createContract,
  hostileTexts,
  routesOf,
  tryBodies,
  valuesOf,
  type Contract,
  lintErrors,
} from '@tollgate/testing/reference'
import { Wallet } from 'ethers'
import fc from 'fast-check'
import { type z } from 'zod'
import { ADMIN_TOKEN, asAdmin, newAccount, type Account } from '../testing/accounts'
import { newWebhooks } from '../testing/webhooks'
import { newClient, newUser, testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { settlementRows } from '../testing/settlement-rows'
import { newSignedIn } from '../testing/sign-in'

let facilitator: TestFacilitator
let document: OpenApiDocument
let contract: Contract

beforeAll(async () => {
  facilitator = await testFacilitator({
    variables: { PUBLIC_URL: 'https://facilitator.example', ADMIN_TOKEN },
  })
  document = (await facilitator.api.get('/openapi.json').expect(200)).body as OpenApiDocument
  contract = createContract(document)
})
afterAll(closeAll)

describe('GET /openapi.json', () => {
  test('is valid OpenAPI 3.1, and passes the recommended rules of Redocly, for callers at the public address', async () => {
    expect(await lintErrors(document)).toEqual([])
    expect(document.servers).toEqual([{ url: 'https://facilitator.example' }])
  })

  test("describes each route under each of its paths, except the page's files and the console", () => {
    const described = operationsOf(document).map(({ method, path }) => `${method} ${path}`)
    expect(described.sort()).toEqual(routesOf(facilitator.app.router))
    expect(described.length).toBeGreaterThanOrEqual(40)
  })

  test('contains examples that its own schemas accept', () => {
    const examples = contract.examples()
    expect(examples.length).toBeGreaterThan(425)
    expect(examples.filter(({ problems }) => problems.length > 0)).toEqual([])
  })

  test("requires both headers of a client key, a user's token, or the admin token", () => {
    const guarded = operationsOf(document).flatMap(({ path, operation: { security } }) =>
      security.length > 0 ? [[path, security] as const] : [],
    )
    for (const [path, security] of guarded) {
      if (path.startsWith('/api/v1/settlements'))
        expect(security).toEqual([{ clientId: [], clientToken: [] }, { bearer: [] }])
      else if (/(verify|settle|supported)$/.test(path))
        expect(security).toEqual([{ clientId: [], clientToken: [] }])
      else expect(security).toEqual([{ [path.includes('/admin/') ? 'admin' : 'bearer']: [] }])
    }
    expect(guarded).toHaveLength(93)
  })

  test('names the limit of wrong admin tokens at each operation that takes one', () => {
    const admins = operationsOf(document).filter(({ operation: { security } }) =>
      security.some((needed) => 'admin' in needed),
    )
    expect(admins.length).toBeGreaterThan(20)
    for (const { path, operation } of admins)
      expect([path, Object.keys(operation.responses)]).toEqual([path, expect.arrayContaining(['401', '429'])])
  })

  test('names the challenge that a 401 of each kind of operation has', async () => {
    const described = document.components.headers['WWW-Authenticate']!.description
    const challenges: [string, string][] = [
      ['/api/v1/supported', 'ClientKey'],
      ['/api/v1/clients', 'Bearer'],
      ['/api/v1/admin/users', 'Bearer'],
    ]
    for (const [path, scheme] of challenges) {
      await facilitator.api.get(path).expect(401).expect('WWW-Authenticate', scheme)
      expect(described).toContain(`\`${scheme}\``)
      expect(document.paths[path]!['get']!.responses['401']).toHaveProperty('headers.WWW-Authenticate')
    }
  })
})

/** JSON Schema counts characters where zod counts UTF-16 units, and cannot express the limits of metadata. */
function isPlain(value: unknown) {
  const { metadata = {} } = (value ?? {}) as { metadata?: unknown }
  const isShort = JSON.stringify(metadata).length <= 4_096
  return isShort && !/\\[bfnrtu]|[^\x20-\x7e]|\de[+-]\d/.test(JSON.stringify(value))
}

describe('the schema of a request body', () => {
  const parsers: Record<string, z.ZodType> = {
    PaymentRequest: SettleRequest,
    PaymentRequestV2: SettleRequestV2,
    PaymentRequestOfAnyVersion: SettleRequestOfAnyVersion,
    SignUpRequest,
    UserLogin,
    TokenRefreshRequest: UserTokenRefresh,
    CreateClientRequest,
    ResourceRegistration,
    CreateUserRequest,
    AssetRegistration,
    CreateInvitationRequest,
    RecipientChallengeRequest,
    ReserveRecipientRequest,
    AssignRecipientRequest,
    DenyAddressRequest,
    ChangePasswordRequest,
    ResetPasswordRequest,
    DeleteAccountRequest,
    NewWebhook,
    WebhookChange,
    WebhookReplayRequest,
  }

  test('is covered by this test', () => {
    const used = operationsOf(document).flatMap(({ operation: { requestBody } }) =>
      Object.values(requestBody?.content ?? {}).map(({ schema }) => schema.$ref?.split('/').at(-1)),
    )
    expect([...new Set(used)].sort()).toEqual(Object.keys(parsers).sort())
  })

  test.each(Object.entries(parsers))('%s accepts exactly what its parser accepts', (name, parser) => {
    const isTaken = (body: unknown) => parser.safeParse(body).success
    expect(tryBodies({ document, contract, name, isTaken, isTried: isPlain })).toBeGreaterThan(100)
  })
})

describe('the schema of a parameter', () => {
  const hasDays = ({ format, anyOf = [] }: { format?: string; anyOf?: { format?: string }[] }) =>
    format === 'date' || anyOf.some((one) => one.format === 'date')
  const parsers: [string, z.ZodObject][] = [
    ['/api/v1/clients', ClientsQuery],
    ['/api/v1/resources', ResourcesQuery],
    ['/api/v1/admin/users', UsersQuery],
    ['/api/v1/discovery/resources', DiscoveryQuery],
    ['/discovery/resources', DiscoveryRootQuery],
    ['/discovery/search', DiscoverySearchQuery],
    ['/discovery/merchant', DiscoveryMerchantQuery],
    ['/api/v1/metrics/daily', MetricsQuery],
    ['/api/v1/networks/{id}', NetworkPath],
    ['/api/v1/clients/{id}', ClientPath],
    ['/api/v1/resources/{id}', RecordPath],
    ['/api/v1/sessions/{id}', SessionPath],
    ['/api/v1/admin/users/{id}/password-reset', PasswordResetPath],
    ['/api/v1/recipients', RecipientsQuery],
    ['/api/v1/recipients/{id}', RecipientPath],
    ['/api/v1/webhooks/{id}/secret', WebhookPath],
    ['/api/v1/webhooks/{id}/deliveries', WebhookDeliveriesQuery],
    ['/api/v1/webhooks/{id}/deliveries/{deliveryId}', WebhookDeliveryPath],
    ['/api/v1/admin/invitations', InvitationsQuery],
    ['/api/v1/admin/invitations/{id}', InvitationPath],
    ['/api/v1/admin/denied-addresses', DeniedAddressesQuery],
    ['/api/v1/admin/denied-addresses/{address}', DeniedAddressPath],
    ['/api/v1/admin/settlements', OperatorSettlementsQuery],
    ['/api/v1/admin/settlements/{id}', OperatorSettlementPath],
    ['/api/v1/admin/assets', OperatorAssetsQuery],
    ['/api/v1/admin/assets/{id}/activate', OperatorAssetPath],
    ['/api/v1/admin/users/{id}/disable', OperatorUserPath],
  ]

  test.each(parsers)('of %s accepts exactly what its parser accepts', (path, parser) => {
    const parameters = Object.values(document.paths[path]!)
      .flatMap(({ parameters: all = [] }) => all)
      .filter(({ name }) => name in parser.shape)
    expect(parameters.map(({ name }) => name).sort()).toEqual(Object.keys(parser.shape).sort())
    for (const { name, schema } of parameters) {
      const texts = fc.oneof(
        hostileTexts,
        valuesOf(document, schema).map(String),
        fc.nat({ max: 3_000_000_000 }).map(String),
        fc.stringMatching(/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/),
      )
      fc.assert(
        fc.property(texts.filter(isPlain), (text) => {
          const isTaken = (parser.shape[name] as z.ZodType).safeParse(text).success
          const isAllowed = contract.problemsOf(schema, asWritten(text, schema), { open: true }).length === 0
          // The schema does not express which days exist.
          if (!hasDays(schema) || isTaken) expect([name, text, isAllowed]).toEqual([name, text, isTaken])
        }),
        { numRuns: 300 },
      )
    }
  })

  const asWritten = (text: string, { type }: JsonSchema) =>
    type === 'integer' && /^(0|[1-9][0-9]*)$/.test(text) ? Number(text) : text
})

describe('each example', () => {
  /** Values that a static document cannot contain: signatures and tokens. */
  const live: Record<string, () => Promise<{ body?: object; authorization?: { Authorization: string } }>> = {
    signUp: () => Promise.resolve({ body: { email: `${Date.now()}@example.com` } }),
    async logIn() {
      const { email, password } = await newUser(facilitator.api)
      return { body: { email, password } }
    },
    async refreshToken() {
      const { email, password } = await newUser(facilitator.api)
      const answer = await facilitator.api.post('/api/v1/login').send({ email, password }).expect(200)
      return {
        body: { refresh_token: (answer.body as { data: { refresh_token: string } }).data.refresh_token },
      }
    },
    async changePassword() {
      const { authorization, password } = await newSignedIn(facilitator.api)
      return { authorization, body: { current_password: password } }
    },
    async deleteUser() {
      const { authorization, password } = await newSignedIn(facilitator.api)
      return { authorization, body: { password } }
    },
    async resetPassword() {
      const { id } = await newSignedIn(facilitator.api)
      const issued = await facilitator.api.post(`/admin/users/${id}/password-reset`).set(asAdmin).expect(200)
      return { body: { token: (issued.body as { data: { token: string } }).data.token } }
    },
    async logOut() {
      return { authorization: (await newSignedIn(facilitator.api)).authorization }
    },
    createUser: () => Promise.resolve({ body: { email: `a${Date.now()}@example.com` } }),
    createUserAtRoot: () => Promise.resolve({ body: { email: `b${Date.now()}@example.com` } }),
    async reserveRecipient() {
      const wallet = Wallet.createRandom()
      const { nonce, message } = await account.challenge(wallet.address)
      return { body: { nonce, signature: await wallet.signMessage(message) } }
    },
    assignRecipient: () => Promise.resolve({ body: { email: account.email } }),
    assignRecipientAtRoot: () => Promise.resolve({ body: { email: account.email } }),
  }
  let account: Account

  test('of a request is accepted, and gets the documented response', async () => {
    const { api } = facilitator
    account = await newAccount(api)
    const { authorization } = account
    const client = await newClient(api)
    const key = await api.post('/api/v1/clients').set(authorization).send({ title: 'Mine' }).expect(200)
    const { clientId } = (key.body as { data: { client: { clientId: string } } }).data.client
    const [example] = document.components.schemas['ResourceRegistration']!.examples as object[]
    const made = await api.post('/api/v1/resources').set(authorization).send(example).expect(201)
    const idOf = async (path: string, body: object, sender: { Authorization: string }) => {
      const created = await api.post(path).set(sender).send(body).expect(200)
      return String((created.body as { data: { id: number } }).data.id)
    }
    const newInvitation = () => idOf('/admin/invitations', {}, asAdmin)
    const newRecipient = () =>
      idOf(
        '/admin/recipients',
        { email: account.email, network: 'base-sepolia', address: Wallet.createRandom().address },
        asAdmin,
      )
    const user = await newSignedIn(api)
    live['endSession'] = () => Promise.resolve({ authorization: user.authorization })
    const sessions = await api.get('/api/v1/sessions').set(user.authorization).expect(200)
    const { data: listed } = sessions.body as { data: { id: string; current: boolean }[] }
    const settlement = String(
      await settlementRows(facilitator.database.pool).settlement(client['X-Client-ID'], { attempts: 1 }),
    )
    const ids: Record<string, string> = {
      endSession: listed.find(({ current }) => !current)!.id,
      issuePasswordReset: String(user.id),
      issuePasswordResetAtRoot: String(user.id),
      readOpenSettlement: settlement,
      readOpenSettlementAtRoot: settlement,
      retrySettlement: settlement,
      retrySettlementAtRoot: settlement,
      deleteRecipient: await newRecipient(),
      unassignRecipient: await newRecipient(),
      unassignRecipientAtRoot: await newRecipient(),
      deleteInvitation: await newInvitation(),
      deleteInvitationAtRoot: await newInvitation(),
      deleteClient: clientId,
      getSettlement: String(
        await settlementRows(facilitator.database.pool).settlement(client['X-Client-ID']),
      ),
      updateResource: String((made.body as { data: { id: number } }).data.id),
    }
    const webhooks = await newWebhooks(facilitator, account)

    const settlementWaiter: unknown[] = []
    for (const { method, path, operation } of operationsOf(document)) {
      const { operationId, parameters = [], requestBody, security } = operation
      const bodies = Object.values(
        requestBody?.content['application/json']?.examples ?? { none: { value: undefined } },
      )
      const given = (place: string) =>
        parameters.filter((parameter) => parameter.in === place && parameter.example !== undefined)
      const url = given('path').reduce(
        (filled, { name, example: value }) =>
          filled.replace(`{${name}}`, ids[operationId] ?? webhooks(operationId)?.[name] ?? String(value)),
        path,
      )
      const [needed = {}] = security
      const credentials =
        'clientId' in needed
          ? client
          : 'admin' in needed
            ? { Authorization: `Bearer ${ADMIN_TOKEN}` }
            : 'bearer' in needed
              ? authorization
              : {}
      for (const { value } of bodies) {
        const { body = {}, authorization: own = {} } = (await live[operationId]?.()) ?? {}
        if (operationId.startsWith('allowAddress')) {
          // The other path of this operation may have ended the denial.
          await api
            .post('/admin/denied-addresses')
            .set(asAdmin)
            .send({ address: url.split('/').at(-1) })
        }
        const { status, headers, text } = await api[method as 'get'](url)
          .query(Object.fromEntries(given('query').map(({ name, example: asked }) => [name, asked])))
          .set({ ...credentials, ...own })
          .send(value === undefined ? undefined : { ...(value as object), ...body })
        const problems = contract.problemsOfAnswer(method, path, { status, headers, text })
        settlementWaiter.push([operationId, Math.floor(status / 100), problems])
      }
    }
    expect(settlementWaiter).toEqual(settlementWaiter.map((outcome) => [(outcome as unknown[])[0], 2, []]))
    expect(settlementWaiter.length).toBeGreaterThanOrEqual(40)
  })
})

describe('GET /docs and /llms.txt', () => {
  test('may be cached', async () => {
    for (const path of ['/openapi.json', '/docs', '/llms.txt']) {
      const { headers } = await facilitator.api.head(path).expect(200)
      expect(headers['cache-control']).toMatch(/^public, max-age=\d+$/)
    }
  })

  test('list each operation with the credentials that it requires', async () => {
    const text = (await facilitator.api.get('/llms.txt').expect('Content-Type', /^text\/plain/)).text
    for (const { method, path, operation } of operationsOf(document)) {
      expect(text).toContain(
        `[${method.toUpperCase()} ${path}](https://facilitator.example/docs#/${encodeURIComponent(operation.tags[0]!)}/${operation.operationId})`,
      )
    }
    expect(text).toContain('Settle a payment on chain. Needs X-Client-ID and X-Client-Token.')
    expect(text).toContain('List all users. Needs admin.')
  })

  test("limit requests for the page's files per address", async () => {
    const page = (await facilitator.api.get('/docs').expect('Content-Type', /^text\/html/)).text
    const [path = ''] = /docs\/[^"]+\.js/.exec(page) ?? []
    const { headers } = await facilitator.api.head(`/${path}`).expect(200)
    expect(headers['ratelimit-policy']).toMatch(/^"lists";/)
  })

  test('explain the steps from sign-up to the first payment', async () => {
    const { text } = await facilitator.api.get('/llms.txt')
    const steps = [
      '1. Sign up: `POST /api/v1/signup`',
      '2. Log in: `POST /api/v1/login`',
      '3. Create a client key: `POST /api/v1/clients`',
      '4. Give the key to the x402 middleware of your server, with `https://facilitator.example/api/v1`',
      '`https://facilitator.example/api/v2`',
      '5. Get paid',
      '`/api/v1/admin`',
    ]
    const places = steps.map((step) => text.indexOf(step))
    expect(places).toEqual([...places].sort((one, other) => one - other))
    expect(places[0]).toBeGreaterThan(0)
    for (const link of ['/openapi.json', '/docs', '/discovery/resources', '/.well-known/x402'])
      expect(text).toContain(`](https://facilitator.example${link}): `)
  })
})
