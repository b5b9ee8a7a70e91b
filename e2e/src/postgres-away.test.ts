import { fundWallet, startPostgres } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLedgerQueries } from './testing/ledger-queries'
import { newThirdParty } from './testing/client-keys'
import { newCustomer } from './testing/customers'
import { call, settleRequest, sign, until } from './testing/paying'
import { startWorld, type World } from './testing/world'

let world: World
beforeAll(async () => (world = await startWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

type Outcome = { status: number; code: string | undefined; retryAfter: number; message: string }

async function ask(url: string, body?: object, headers: Record<string, string> = {}): Promise<Outcome> {
  const answer = await fetch(url, {
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    headers: { 'content-type': 'application/json', ...headers },
  })
  const text = await answer.text()
  const { code, message = '' } = JSON.parse(text) as { code?: string; message?: string }
  return { status: answer.status, code, retryAfter: Number(answer.headers.get('retry-after')), message }
}

const failuresIn = (service: string) =>
  readFileSync(world.log(service), 'utf8')
    .split('\n')
    .filter((line) => line.includes('"request failed"'))
    .map((line) => JSON.parse(line) as { level: string; code: string; reason?: string })

test('while Postgres is unavailable both services respond 503 and log the reason, and they recover by themselves', async () => {
  const { infrastructure, gateway, facilitator, plan, folder } = world
  const { server } = infrastructure.postgres
  const spender = await newCustomer(world, plan)
  const asked = (await call(world, spender.session.token)).body
  expect((await call(world, spender.session.token, await sign(spender.wallet, asked))).status).toBe(200)
  const buyer = await newCustomer(world, plan)
  const payment = await sign(buyer.wallet, asked)

  const { clientId, token } = await (await newThirdParty(facilitator)).newKey()
  const key = { 'X-Client-ID': clientId, 'X-Client-Token': token }
  const payer = Wallet.createRandom()
  await fundWallet(infrastructure.rpcUrl, payer.address, { usdc: 1_000_000n })
  const order = await settleRequest(payer, Wallet.createRandom().address, 10_000n)

  const { address } = spender
  const { refresh_token } = spender.session
  /** Requests that need the database and change nothing. */
  const requests: Record<string, () => Promise<Outcome>> = {
    balance: () => ask(`${gateway.url}/credits/${address}`),
    history: () => ask(`${gateway.url}/history/${address}`),
    plan: () => ask(`${gateway.url}/pricing/${plan.id}`),
    assets: () => ask(`${facilitator.url}/api/v1/assets`),
    registry: () => ask(`${facilitator.url}/api/v1/resources`),
    verify: () => ask(`${facilitator.url}/api/v1/verify`, order, key),
  }
  const changes: Record<string, () => Promise<Outcome>> = {
    refresh: () => ask(`${gateway.url}/auth/refresh`, { refresh_token }),
    settle: () => ask(`${facilitator.url}/api/v1/settle`, order, key),
  }
  const paid = () => call(world, buyer.session.token, payment)

  await server.stop()
  // The gateway serves cached plans for a second or two without Postgres.
  await until(requests['plan']!, ({ status }) => status !== 200)
  for (const [name, request] of Object.entries({ ...requests, ...changes })) {
    const { status, code, retryAfter, message } = await request()
    expect([name, status, code]).toEqual([name, 503, 'UNAVAILABLE'])
    expect(retryAfter).toBeGreaterThan(0)
    expect(message).not.toMatch(/postgres|127\.0\.0\.1|ECONN|prisma/i)
  }
  const waiting = await paid()
  expect(waiting.status).toBe(503)
  expect(['UNAVAILABLE', 'PAYMENT_PENDING']).toContain(waiting.body.code)
  for (const service of [gateway, facilitator]) {
    expect((await ask(`${service.url}/health`)).status).toBe(200)
    expect(await ask(`${service.url}/ready`)).toMatchObject({ status: 503, code: 'UNAVAILABLE' })
  }
  for (const service of ['gateway', 'facilitator']) {
    const failures = failuresIn(service).filter(({ reason }) => reason !== undefined)
    expect(new Set(failures.map(({ code }) => code))).toEqual(new Set(['UNAVAILABLE']))
    expect(failures.map(({ reason }) => reason)).toContain('Postgres: nothing listens there')
    expect(failuresIn(service).filter(({ code }) => code === 'INTERNAL_ERROR')).toEqual([])
  }

  const again = await startPostgres({ folder: join(folder, 'postgres'), port: server.port })
  Object.assign(server, { pid: again.pid, stop: again.stop })
  for (const request of Object.values(requests)) expect((await request()).status).toBe(200)
  expect((await changes['refresh']!()).status).toBe(200)
  await until(changes['settle']!, ({ status }) => status === 200)
  await until(paid, ({ status }) => status === 200)

  const ledger = openLedgerQueries(infrastructure.postgres.gateway)
  expect(await ledger.payments(buyer.address)).toMatchObject([{ status: 'credited', grants: 1n }])
  expect(await ledger.broken()).toEqual([])
  await ledger.close()
}, 120_000)
