import { type Client } from '@modelcontextprotocol/sdk/client/index.js'
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { encryptKeystoreJson, type HDNodeWallet } from 'ethers'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProxy } from './testing/changing-proxy'
import { newThirdParty } from './testing/client-keys'
import { OFFERED, startHostileMerchant, type HostileMerchant } from './testing/hostile-merchant'
import { callTool, linesOf, LIMITS, spawnMcp, startStdio, type StdioSession } from './testing/mcp-program'
import { openMerchant, PRICE, type Merchant } from './testing/merchants'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { call, sign, until } from './testing/paying'
import { signIn } from './testing/world'

let world: ObservedWorld
let merchant: Merchant
let hostile: HostileMerchant
const sessions: StdioSession[] = []

beforeAll(async () => {
  world = await startObservedWorld()
  merchant = await openMerchant(1, world.facilitator, await (await newThirdParty(world.facilitator)).newKey())
  hostile = await startHostileMerchant()
}, 120_000)
afterEach(async () => {
  for (const session of sessions.splice(0)) {
    expect(session.problems).toEqual([])
    await session.close()
  }
})
afterAll(async () => {
  await hostile.close()
  await merchant.close()
  await world.stop()
}, 30_000)

const ALLOW_PRIVATE = [...LIMITS, '--allow-private']

async function open(wallet: { privateKey: string }, args: string[] = LIMITS): Promise<StdioSession> {
  const session = await startStdio(world, { wallet, args })
  sessions.push(session)
  return session
}

async function buyCredits(wallet: HDNodeWallet): Promise<void> {
  const token = await signIn(world, wallet)
  const { body } = await call(world, token)
  expect((await call(world, token, await sign(wallet, body))).status).toBe(200)
}

const blockNumber = { chain: 'base-sepolia', method: 'eth_blockNumber' }

describe('an agent without credits', () => {
  test('sees the tools, with the limits in those that pay', async () => {
    const { client } = await open(await world.newPayer())
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      ...['list_chains', 'price', 'rpc_call', 'credits', 'history', 'pay_x402_url'],
    ])
    const paying = tools.filter(({ annotations }) => annotations?.readOnlyHint === false)
    expect(paying.map(({ name }) => name)).toEqual(['rpc_call', 'pay_x402_url'])
    const texts = [...paying.map(({ description }) => description), client.getInstructions()]
    for (const text of texts) expect(text).toContain('at most 0.05 USDC for one payment, 1 USDC in a day')
    for (const { outputSchema, inputSchema } of tools)
      expect([inputSchema.type, outputSchema?.type]).toEqual(['object', 'object'])
  })

  test('reads chains, prices, credits, history, and the documents of the gateway', async () => {
    const wallet = await world.newPayer()
    const { client } = await open(wallet)
    const { content } = await callTool(client, 'list_chains')
    expect(content['chains']).toContainEqual({
      chain: 'eip155:84532',
      name: 'base-sepolia',
      ecosystem: 'evm',
      chain_id: '84532',
      transports: ['rpc'],
      method_credits: expect.any(Object) as object,
      not_served: ['eth_subscribe', 'eth_unsubscribe'],
    })
    const price = await callTool(client, 'price', { chain: '84532', method: 'eth_subscribe' })
    expect(price.content).toMatchObject({
      plans: expect.arrayContaining([
        expect.objectContaining({ id: world.plan.id, price: '0.01 USDC', credits_left: 0 }),
      ]) as unknown,
      call: { chain: 'eip155:84532', is_served: false, credits: 1 },
    })
    expect((await callTool(client, 'credits')).content).toMatchObject({ wallet: wallet.address })
    expect((await callTool(client, 'history')).content).toEqual({ total: 0, calls: [] })

    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(['tollgate://api', 'tollgate://llms.txt'])
    const read = async (uri: string) => (await client.readResource({ uri })).contents[0] as { text: string }
    expect(JSON.parse((await read('tollgate://api')).text)).toHaveProperty('openapi')
    expect((await read('tollgate://llms.txt')).text).toContain('/v1/')
  })

  test('buys with its first call, and 100 calls at once buy no more than they need', async () => {
    const wallet = await world.newPayer()
    const { client, lines } = await open(wallet)
    const results = await Promise.all(
      Array.from({ length: 100 }, () => callTool(client, 'rpc_call', blockNumber)),
    )
    expect(results.filter(({ isError }) => isError)).toEqual([])
    expect(results.flatMap(({ content }) => content['paid'])).toMatchObject([
      { price: '0.01 USDC', amount: world.plan.amount, asset: USDC_ADDRESS, recipient: world.plan.pay_to },
    ])
    expect(await world.ledger.payments(wallet.address)).toHaveLength(1)
    expect(lines()).toMatchObject([
      { event: 'paid', price: '0.01 USDC', amount: world.plan.amount, network: 'eip155:84532' },
    ])
  })

  test('buys nothing that costs more than the limit for one payment', async () => {
    const wallet = await world.newPayer()
    const { client, lines } = await open(wallet, ['--max-payment', '0.001', '--max-day', '1'])
    const { isError, error, text } = await callTool(client, 'rpc_call', blockNumber)
    expect([isError, error?.code]).toEqual([true, 'LIMIT_REACHED'])
    expect(text).toContain('A payment of 0.01 USDC exceeds the limit perPayment of 0.001 USDC')
    expect(error?.details).toMatchObject({ price: '0.01 USDC' })
    expect(lines()).toMatchObject([{ event: 'limit-reached', limit: 'perPayment' }])
    expect(await world.ledger.payments(wallet.address)).toEqual([])
  })
})

describe('an agent with credits', () => {
  let client: Client
  let wallet: HDNodeWallet
  let session: StdioSession
  beforeAll(async () => {
    wallet = await world.newPayer()
    await buyCredits(wallet)
  })
  beforeEach(async () => {
    session = await open(wallet)
    client = session.client
  })

  test('calls a chain, by its name and both ids, and sees what it cost', async () => {
    for (const chain of ['base-sepolia', '84532', 'eip155:84532']) {
      const { content, isError } = await callTool(client, 'rpc_call', { ...blockNumber, chain })
      expect(isError).toBe(false)
      expect(content).toMatchObject({
        result: expect.stringMatching(/^0x/) as string,
        credits_charged: 1,
        credits_left: expect.any(Number) as number,
        paid: [],
      })
    }
    const history = await callTool(client, 'history', { limit: 2 })
    const calls = history.content['calls'] as { id: number; method: string }[]
    expect(calls.map(({ method }) => method)).toEqual(['eth_blockNumber', 'eth_blockNumber'])
    const older = await callTool(client, 'history', { limit: 100, before: calls[1]?.id })
    expect((older.content['calls'] as { id: number }[]).every(({ id }) => id < (calls[1]?.id ?? 0))).toBe(
      true,
    )
    expect(session.lines()).toEqual([])
  })

  test('reads why a call was refused', async () => {
    const codeOf = async (input: Record<string, unknown>) => {
      const { isError, error, text } = await callTool(client, 'rpc_call', input)
      expect([isError, text.startsWith(`${error?.code}: `)]).toEqual([true, true])
      return error?.code
    }
    const chain = '84532'
    expect(await codeOf({ chain, method: 'eth_call', params: ['nonsense'] })).toBe('RPC_ERROR')
    expect(await codeOf({ chain, method: 'eth_subscribe' })).toBe('GATEWAY_ERROR')
    expect(await codeOf({ chain: 'no-chain', method: 'eth_blockNumber' })).toBe('GATEWAY_ERROR')
    expect(await codeOf({ chain })).toBe('INVALID_ARGUMENT')
    expect(await codeOf({ chain, method: 'eth_blockNumber', rest: { path: 'a' } })).toBe('INVALID_ARGUMENT')
    expect(await codeOf({ chain, method: 'eth_call', params: ['x'.repeat(300_000)] })).toBe(
      'INVALID_ARGUMENT',
    )
  })

  test('is refused input that is not of the schema, and goes on', async () => {
    const hostileInputs: [string, unknown][] = [
      ['rpc_call', { chain: '../auth', method: 'eth_blockNumber' }],
      ['rpc_call', { chain: '84532', method: 7 }],
      ['rpc_call', { chain: '84532', rest: { path: '../../auth/logout' } }],
      ['rpc_call', { chain: '84532', method: 'eth_call', params: Array.from({ length: 50_000 }, () => 0) }],
      ['pay_x402_url', { url: 'https://x.example', headers: { 'x-payment': 'y' }, extra: 1 }],
      ['history', { limit: 1e9 }],
      ['history', { before: '1; DROP TABLE' }],
      ['constructor', {}],
      ['__proto__', {}],
    ]
    for (const [name, input] of hostileInputs) {
      const { isError } = await callTool(client, name, input as Record<string, unknown>)
      expect([name, isError]).toEqual([name, true])
    }
    const polluting = JSON.parse(
      `{"__proto__":{"rest":{"path":"x"}},${JSON.stringify(blockNumber).slice(1)}`,
    ) as object
    expect(await callTool(client, 'rpc_call', { ...polluting })).toMatchObject({ isError: false })
    expect(await callTool(client, 'rpc_call', polluting as Record<string, unknown>)).toMatchObject({
      isError: false,
    })
    expect((await callTool(client, 'rpc_call', blockNumber)).isError).toBe(false)
  })
})

describe('pay_x402_url', () => {
  test('pays a merchant, and says what was paid, in the result, the log, its file, and a notification', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-mcp-'))
    const file = join(folder, 'payments.log')
    const wallet = await world.newPayer()
    const { client, lines } = await open(wallet, [...ALLOW_PRIVATE, '--log', file])
    const notified: unknown[] = []
    client.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void notified.push(params),
    )
    await client.setLoggingLevel('info')
    const progress: string[] = []
    const { content } = await callTool(
      client,
      'pay_x402_url',
      { url: `${merchant.url}?key=secret` },
      { onprogress: ({ message = '' }) => void progress.push(message) },
    )
    const paid = { amount: PRICE.toString(), network: 'eip155:84532', recipient: merchant.payTo }
    expect(content).toMatchObject({ status: 200, body: merchant.content, encoding: 'text', paid: [paid] })
    const [{ transaction = '' } = {}] = content['paid'] as { transaction?: string }[]
    expect(await world.token.transfersOf(transaction, wallet.address)).toEqual([
      { from: wallet.address, to: merchant.payTo, value: PRICE },
    ])
    const line = { event: 'paid', ...paid, transaction, url: `${merchant.url}?…` }
    expect(lines()).toMatchObject([line])
    expect(linesOf(readFileSync(file, 'utf8'))).toEqual(lines())
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(notified).toMatchObject([{ level: 'notice', logger: 'payments', data: line }])
    expect(progress).toEqual([`Paying 0.01 USDC to ${merchant.payTo}`, 'Paid 0.01 USDC'])
    rmSync(folder, { recursive: true })
  })

  test('holds the limit of a day against 100 calls at once', async () => {
    const wallet = await world.newPayer()
    const { client, lines } = await open(wallet, [
      '--max-payment',
      '0.01',
      '--max-day',
      '0.03',
      '--allow-private',
    ])
    const results = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        callTool(client, 'pay_x402_url', { url: `${merchant.url}?call=${index}` }),
      ),
    )
    expect(results.filter(({ isError }) => !isError)).toHaveLength(3)
    expect(new Set(results.map(({ error }) => error?.code))).toEqual(new Set([undefined, 'LIMIT_REACHED']))
    expect(
      results.filter(({ content }) => 'paid' in content).map(({ content }) => content['paid']),
    ).toMatchObject(Array.from({ length: 3 }, () => [{ amount: PRICE.toString() }]))
    expect(await world.token.balanceOf(wallet.address)).toBe(1_000_000n - 3n * PRICE)
    const events = lines().map(({ event }) => event)
    expect(events.filter((event) => event === 'paid')).toHaveLength(3)
    expect(events.filter((event) => event === 'limit-reached')).toHaveLength(97)
  })

  test('pays a plain URL of a gateway', async () => {
    const other = await world.addGateway()
    const wallet = await world.newPayer()
    const { client } = await open(wallet, ALLOW_PRIVATE)
    const { content } = await callTool(client, 'pay_x402_url', {
      url: `${other.url}/v1/base-sepolia`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":7,"method":"eth_blockNumber","params":[]}',
    })
    expect(content).toMatchObject({ status: 200, paid: [{ amount: world.plan.amount }] })
    expect(JSON.parse(String(content['body']))).toMatchObject({ id: 7 })
  })

  test('refuses a thousand times the limit', async () => {
    const { client, lines } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const { error } = await callTool(client, 'pay_x402_url', { url: `${hostile.url}/expensive` })
    expect(error).toMatchObject({ code: 'LIMIT_REACHED', details: { amount: (OFFERED * 1_000n).toString() } })
    expect(hostile.paymentsOf('/expensive')).toEqual([])
    expect(lines()).toMatchObject([{ event: 'limit-reached', recipient: hostile.payTo }])
  })

  test.each([
    [402, '/greedy'],
    [307, '/moved'],
    [404, '/answers/404'],
    [500, '/answers/500'],
  ])('names a payment that was sent and answered %i, in the result and in the log', async (status, path) => {
    const { client, lines } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const { content, error } = await callTool(client, 'pay_x402_url', { url: `${hostile.url}${path}` })
    const sent = { amount: OFFERED.toString(), recipient: hostile.payTo }
    if (status === 402) expect(error).toMatchObject({ code: 'PAYMENT_REFUSED', details: { sent: [sent] } })
    else expect(content).toMatchObject({ status, paid: [], sent: [sent] })
    expect(hostile.paymentsOf(path)).toHaveLength(1)
    expect(lines()).toMatchObject([{ event: 'pending', ...sent }])
  })

  test('returns a redirect to the metadata address, and does not follow it', async () => {
    const { client } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const { content } = await callTool(client, 'pay_x402_url', { url: `${hostile.url}/redirect` })
    expect(content).toMatchObject({
      status: 302,
      headers: { location: 'http://169.254.169.254/latest/meta-data' },
      note: expect.stringContaining('not followed') as string,
    })
  })

  test('returns the beginning of 10 MB, binary as base64, and no other headers', async () => {
    const { client } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const long = await callTool(client, 'pay_x402_url', { url: `${hostile.url}/long` })
    expect(String(long.content['body'])).toHaveLength(100_000)
    expect(long.content).toMatchObject({
      note: expect.stringContaining('first 100000') as string,
      paid: [{}],
    })
    const binary = await callTool(client, 'pay_x402_url', { url: `${hostile.url}/binary` })
    expect(binary.content).toMatchObject({ body: 'if8=', encoding: 'base64', paid: [] })
    const plain = await callTool(client, 'pay_x402_url', { url: `${hostile.url}/secret-headers` })
    expect(Object.keys(plain.content['headers'] as object)).not.toContain('set-cookie')
  })

  test('does not unpack a 402 of 700 MB', async () => {
    const { client } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const { content } = await callTool(client, 'pay_x402_url', { url: `${hostile.url}/bomb` })
    expect(content).toMatchObject({ status: 402, paid: [] })
    expect(String(content['body']).length).toBeLessThanOrEqual(100_000)
  })

  test('calls only http and https, with headers that are the caller’s to set', async () => {
    const { client } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const inputs = [
      ...['file:///etc/passwd', 'ftp://x.example', 'data:,x', '//x', 'nonsense', 'http://u:p@x.example'].map(
        (url) => ({
          url,
        }),
      ),
      ...['Authorization', 'X-PAYMENT', 'Host', 'cookie'].map((name) => ({
        url: hostile.url,
        headers: { [name]: 'x' },
      })),
      { url: hostile.url, headers: { 'x-a': 'b\r\nx-c: d' } },
      { url: hostile.url, body: 'x' },
    ]
    for (const input of inputs)
      expect([input, (await callTool(client, 'pay_x402_url', input)).error?.code]).toEqual([
        input,
        'INVALID_ARGUMENT',
      ])
  })

  test('reaches no private address unless that is allowed', async () => {
    const { client } = await open(await world.newPayer())
    const { port } = new URL(hostile.url)
    const urls = [
      ...['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]'].map(
        (host) => `http://${host}:${port}/binary`,
      ),
      ...[
        'http://169.254.169.254/latest/meta-data',
        'http://10.0.0.1/',
        'http://[fd00:ec2::254]/',
        'http://0/',
      ],
    ]
    for (const url of urls)
      expect([url, (await callTool(client, 'pay_x402_url', { url })).error?.code]).toEqual([
        url,
        'PRIVATE_ADDRESS',
      ])
    const own = await callTool(client, 'pay_x402_url', {
      url: `${world.gateway.url}/v1/base-sepolia`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
    })
    expect(own.content).toMatchObject({ status: 200 })
  })

  test('makes no access key, and reaches nothing else of the account', async () => {
    const wallet = await world.newPayer()
    const { client } = await open(wallet, ALLOW_PRIVATE)
    const { port } = new URL(world.gateway.url)
    const urls = [
      ...[
        '/keys',
        '/v1/../keys',
        '/v1/%2e%2e/keys',
        '/v1/x/..%2f..%2fkeys',
        '/webhooks',
        '/rpc',
        '/credits',
      ].map((path) => world.gateway.url + path),
      ...['127.1', 'localhost', 'LOCALHOST.', '0', '[::1]'].map((host) => `http://${host}:${port}/keys`),
    ]
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"label":"stolen"}',
    }
    for (const url of urls)
      expect([url, (await callTool(client, 'pay_x402_url', { url, ...init })).error?.code]).toEqual([
        url,
        'INVALID_ARGUMENT',
      ])
    for (const path of ['..%2f..%2f..%2fkeys', '%252e%252e/%252e%252e/%252e%252e/keys'])
      expect(await callTool(client, 'rpc_call', { chain: 'base-sepolia', rest: { path } })).toMatchObject({
        isError: true,
      })
    const token = await signIn(world, wallet)
    const keys = await fetch(`${world.gateway.url}/keys`, { headers: { authorization: `Bearer ${token}` } })
    expect(await keys.json()).toEqual({ data: [] })
  })

  test('cancelled after it was paid, sends the same payment with the next call', async () => {
    const { client, lines } = await open(await world.newPayer(), ALLOW_PRIVATE)
    const cancel = new AbortController()
    const url = `${hostile.url}/held`
    const cancelled = callTool(client, 'pay_x402_url', { url }, { signal: cancel.signal })
    const isSent = (count: number) => count > 0
    await until(() => Promise.resolve(hostile.paymentsOf('/held').length), isSent)
    cancel.abort()
    await expect(cancelled).rejects.toThrow()
    hostile.release()
    const { content } = await callTool(client, 'pay_x402_url', { url })
    expect(content).toMatchObject({ status: 200, paid: [{ amount: OFFERED.toString() }] })
    const payments = hostile.paymentsOf('/held')
    expect([payments.length > 1, new Set(payments).size]).toEqual([true, 1])
    expect(lines().filter(({ event }) => event === 'paid')).toHaveLength(1)
  })
})

describe('the program', () => {
  test.each([
    ['no limits', [], '--max-payment and --max-day are missing'],
    ['no limit for a day', ['--max-payment', '1'], '--max-day is missing'],
    ['no limit for a payment', ['--max-day', '1'], '--max-payment is missing'],
    ['an address that others reach', [...LIMITS, '--http', '0.0.0.0:0'], 'TOLLGATE_MCP_TOKEN'],
    ['a log that cannot be written', [...LIMITS, '--log', '/proc/none/log'], '--log'],
  ])('does not start with %s, and says why', async (_, args, reason) => {
    const program = spawnMcp(world, { wallet: await world.newPayer(), args })
    expect(await program.exited).toBe(2)
    expect(program.output()).toContain(reason)
  })

  test('does not start with a keystore whose password it cannot ask, and says what to set', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-mcp-'))
    const keystore = join(folder, 'wallet.json')
    const wallet = await world.newPayer()
    const { address, privateKey } = wallet
    const scrypt = { N: 1024, r: 8, p: 1 }
    const json = await encryptKeystoreJson({ address, privateKey }, 'a password', { scrypt })
    writeFileSync(keystore, json, { mode: 0o600 })
    const environment = { PRIVATE_KEY: '', TOLLGATE_KEYSTORE: keystore }
    const locked = spawnMcp(world, { wallet, environment })
    expect(await locked.exited).toBe(2)
    expect(locked.output()).toContain('TOLLGATE_PASSWORD')
    const wrong = spawnMcp(world, { wallet, environment: { ...environment, TOLLGATE_PASSWORD: 'other' } })
    expect(await wrong.exited).toBe(2)
    const session = await startStdio(world, {
      wallet,
      environment: { ...environment, TOLLGATE_PASSWORD: 'a password' },
    })
    sessions.push(session)
    expect((await callTool(session.client, 'credits')).content).toMatchObject({ wallet: wallet.address })
    rmSync(folder, { recursive: true })
  })

  test('does not start at a gateway that states other decimals than the asset has', async () => {
    const proxy = await startProxy(world.gateway.url, ({ url }, { body }) =>
      url === '/pricing' ? body.replaceAll('"decimals":6', '"decimals":18') : body,
    )
    const environment = { TOLLGATE_URL: proxy.url }
    const program = spawnMcp(world, { wallet: await world.newPayer(), environment })
    expect(await program.exited).toBe(1)
    expect(program.output()).toContain('states 18 decimals')
    await proxy.close()
  })

  test.each(['SIGINT', 'SIGTERM', 'end of input'])('ends cleanly at %s', async (way) => {
    const program = spawnMcp(world, { wallet: await world.newPayer() })
    program.stdin.write(
      `${JSON.stringify({
        ...{ jsonrpc: '2.0', id: 1, method: 'initialize' },
        params: {
          protocolVersion: '2025-06-18',
          capabilities: {},
          clientInfo: { name: 'e2e', version: '1' },
        },
      })}\n`,
    )
    await program.said('"protocolVersion"')
    if (way === 'end of input') program.stdin.end()
    else program.child.kill(way as NodeJS.Signals)
    expect(await program.exited).toBe(0)
    expect(linesOf(program.output())).toHaveLength(1)
  })

  test('says no secret', async () => {
    const wallet = await world.newPayer()
    await buyCredits(wallet)
    const session = await open(wallet, ALLOW_PRIVATE)
    const { client } = session
    const said = [
      ...(await Promise.all([
        callTool(client, 'rpc_call', blockNumber),
        callTool(client, 'pay_x402_url', { url: merchant.url }),
        callTool(client, 'pay_x402_url', { url: `${hostile.url}/expensive` }),
        callTool(client, 'pay_x402_url', { url: 'http://nowhere.invalid' }),
        callTool(client, 'credits'),
      ])),
      await client.listTools(),
      client.getInstructions(),
      session.log(),
    ]
    const text = JSON.stringify(said)
    expect(text).not.toContain(wallet.privateKey.slice(2))
    expect(text).not.toMatch(/eyJ[A-Za-z0-9_-]{10}|Bearer|refresh_token|"signature"/)
  })
})
