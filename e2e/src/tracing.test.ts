import { startAnvil } from '@tollgate/devnet'
import { closeAll, pathOf, startTraceCollector, type TraceCollector } from '@tollgate/testing'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { killGateway } from './testing/kill-gateway'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { call, sign, until } from './testing/paying'
import { queryNode } from './testing/query-node'
import { blockNumberCall, signIn, walletAt } from './testing/world'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const COLLECTOR_KEY = 'key-of-the-collector'

let collector: TraceCollector
let world: ObservedWorld
beforeAll(async () => {
  collector = await startTraceCollector()
  const environment = () => ({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: `x-api-key=${COLLECTOR_KEY}`,
    OTEL_TRACES_SAMPLER_ARG: '0',
  })
  world = await startObservedWorld({ overrides: { environment } })
}, 120_000)
afterAll(async () => {
  await world.stop()
  await closeAll()
}, 30_000)

test('a payment that is pending while its gateway is killed ends as one trace of both services', async () => {
  const { infrastructure, clientKey } = world
  const buyer = walletAt(0)
  const session = await signIn(world, buyer)
  const payment = await sign(buyer, (await call(world, session)).body)

  // No blocks are mined now, so the payment is still open at the kill.
  await infrastructure.anvil.stop()
  const { anvil, rpcUrl } = infrastructure
  const folder = join(world.folder, 'anvil')
  const again = await startAnvil({ folder, port: Number(new URL(rpcUrl).port), blockTime: 3_600 })
  anvil.stop = again.stop
  const headers = {
    authorization: `Bearer ${session}`,
    'content-type': 'application/json',
    'x-payment': payment,
  }
  const traceparent = `00-${TRACE}-b7ad6b7169203331-01`
  const cut = fetch(`${world.gateway.url}/rpc`, {
    method: 'POST',
    headers: { ...headers, traceparent },
    body: JSON.stringify(blockNumberCall),
  }).catch(() => 'cut off')
  await collector.until(TRACE, 'record payment', 'broadcast transaction')
  await killGateway(world)
  expect(await cut).toBe('cut off')
  await queryNode(rpcUrl, 'evm_mine')
  await until(
    () => world.creditsOf(buyer.address),
    (balances) => JSON.stringify(balances) !== '[]',
  )
  expect((await call(world, session, payment)).status).toBe(200)

  const spans = await collector.until(TRACE, 'settle payment', 'complete settlement', 'upstream devnet')
  const paths = new Set(spans.map((span) => pathOf(spans, span).join(' > ')))
  // The steps of the killed process that had not ended are lost: the recorded payment is the first one.
  const settle = 'record payment > settle payment > POST /api/v1/settle'
  for (const path of [
    'record payment',
    'record payment > grant credits',
    'record payment > spend credits',
    'record payment > forward call > upstream devnet',
    settle,
    `${settle} > wait for settlement`,
  ])
    expect(paths).toContain(path)
  // They are in the trace of the killed request, whose step is lost too.
  for (const name of [
    'prepare transaction',
    'sign transaction',
    'broadcast transaction',
    'mine transaction',
    'complete settlement',
  ])
    expect([...paths].some((path) => path.endsWith(`claim payment > ${name}`))).toBe(true)
  expect(new Set(spans.map(({ service }) => service))).toEqual(
    new Set(['tollgate-gateway', 'tollgate-facilitator']),
  )
  expect(new Set(collector.headers.map((header) => header['x-api-key']))).toEqual(new Set([COLLECTOR_KEY]))

  const { signature } = (JSON.parse(Buffer.from(payment, 'base64').toString()) as SignedPayment).payload
  const kept = [payment, session, signature, signature.slice(2), clientKey.token, buyer.privateKey.slice(2)]
  for (const secret of kept) expect(collector.text()).not.toContain(secret)

  for (const service of ['gateway', 'facilitator'])
    expect(readFileSync(world.log(service), 'utf8')).toContain(`"traceId":"${TRACE}"`)
}, 90_000)

type SignedPayment = { payload: { signature: string } }
