import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { call, sign, until } from './testing/paying'
import { blockNumberCall, signIn, startWorld, walletAt, type World } from './testing/world'

const MB = 1_048_576
const GIGABYTE = 1_024 * MB
/** Far above the memory of streaming on a busy machine, and far below one response. */
const MAX_GROWTH_MB = 512

/** Above the gateway's response buffer. */
const MORE_THAN_HELD = MB

const chunk = Buffer.alloc(MB / 4, 'x')

const responders: Record<string, (res: ServerResponse) => unknown> = {
  '/gigabyte': (res) => {
    res.writeHead(200, { 'content-length': GIGABYTE })
    let left = GIGABYTE
    const write = () => {
      while (left > 0 && !res.closed) {
        left -= chunk.length
        if (left === 0) res.end(chunk)
        else if (!res.write(chunk)) return
      }
    }
    res.on('drain', write)
    write()
  },
  '/drip': (res) => drip(res),
  '/drip-late': (res) => {
    res.write(Buffer.alloc(MORE_THAN_HELD))
    drip(res)
  },
}

function drip(res: ServerResponse) {
  const timer = setInterval(() => res.write('.'), 50)
  res.once('close', () => clearInterval(timer))
}

async function startUpstream() {
  const open = new Set<ServerResponse>()
  const server = http.createServer((req, res) => {
    open.add(res)
    res.once('close', () => open.delete(res))
    responders[req.url ?? '']?.(res)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    address: `127.0.0.1:${port}`,
    open,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** The drips last as long as the test, however slow the machine. */
const environment = (service: string): NodeJS.ProcessEnv =>
  service === 'gateway' ? { UPSTREAM_TIMEOUT_SECONDS: '120' } : {}

let world: World
let upstream: Awaited<ReturnType<typeof startUpstream>>

beforeAll(async () => {
  upstream = await startUpstream()
  world = await startWorld({ overrides: { environment } })
  await applyCatalog()
}, 300_000)

afterAll(async () => {
  upstream.stop()
  await world.stop()
}, 120_000)

/** Adds chain `faults` to the world's catalog, because entries that a catalog omits are retired. */
async function applyCatalog() {
  const { plan, infrastructure, folder } = world
  const provider = {
    provider_id: 'devnet',
    category: 'evm',
    chain_id: plan.chain_id,
    rpc: [infrastructure.rpcUrl],
  }
  const faulty = {
    ...provider,
    provider_id: 'faults',
    chain_id: 'faults',
    rpc: [`http://${upstream.address}`],
  }
  const file = join(folder, 'catalog-with-faults.yaml')
  writeFileSync(file, JSON.stringify({ plans: [plan], providers: [provider, faulty] }))
  const command = join(__dirname, '../../apps/gateway/bin/gateway.js')
  await promisify(execFile)(process.execPath, [command, 'catalog', 'apply', file], {
    env: { ...process.env, DATABASE_URL: infrastructure.postgres.gateway },
    timeout: 120_000,
  })
  await until(
    async () => (await fetch(`${world.gateway.url}/providers`)).text(),
    (text) => text.includes('"faults"'),
    120,
  )
}

function ask(token: string, resource: string) {
  const req = http.request(`${world.gateway.url}/rpc`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
  })
  req.on('error', () => undefined)
  req.end(JSON.stringify({ ...blockNumberCall, chain_id: 'faults', resource }))
  return {
    leave: () => req.destroy(),
    answer: async () => {
      const [res] = (await once(req, 'response')) as [IncomingMessage]
      res.on('error', () => undefined)
      return res
    },
  }
}

async function read(res: IncomingMessage, bytes: number, pauseMs = 0): Promise<number> {
  let received = 0
  for await (const piece of res as AsyncIterable<Buffer>) {
    received += piece.length
    if (received >= bytes) break
    if (pauseMs > 0) await delay(pauseMs)
  }
  return received
}

function memoryOf(pid: number) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const field = (name: string) =>
    Math.round(Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) / 1024)
  return { rss: field('VmRSS'), peak: field('VmHWM') }
}

const remaining = async (address: string) => {
  const balances = (await (await fetch(`${world.gateway.url}/credits/${address}`)).json()) as {
    remaining_credits: number
  }[]
  return balances[0]?.remaining_credits ?? 0
}

const testWithProc = existsSync('/proc/self/status') ? test : test.skip

testWithProc(
  'gigabyte answers and slow drips keep the memory of the gateway bounded, however fast the client reads, and no address is logged',
  async () => {
    const wallet = walletAt(3)
    const token = await signIn(world, wallet)
    const bought = await call(world, token, await sign(wallet, (await call(world, token)).body))
    expect(bought.status).toBe(200)
    const credits = await remaining(wallet.address)
    const pid = world.gateway.pid()
    const before = memoryOf(pid)

    const times = <T>(count: number, work: () => Promise<T>) =>
      Promise.all(Array.from({ length: count }, work))
    const drips = await times(20, () => Promise.resolve(ask(token, 'drip')))
    const lateDrips = await times(20, async () => {
      const dripping = ask(token, 'drip-late')
      ;(await dripping.answer()).resume()
      return dripping
    })
    const still = await times(3, async () => {
      const unread = ask(token, 'gigabyte')
      await unread.answer()
      return unread
    })
    const startedAt = performance.now()
    const [whole, slow, left] = await Promise.all([
      times(2, async () => read(await ask(token, 'gigabyte').answer(), Infinity)),
      times(3, async () => {
        const reader = ask(token, 'gigabyte')
        const received = await read(await reader.answer(), 20 * MB, 5)
        reader.leave()
        return received
      }),
      times(3, async () => {
        const reader = ask(token, 'gigabyte')
        const received = await read(await reader.answer(), 50 * MB)
        reader.leave()
        return received
      }),
    ])
    const seconds = (performance.now() - startedAt) / 1000
    expect(whole).toEqual([GIGABYTE, GIGABYTE])
    for (const received of slow) expect(received).toBeGreaterThanOrEqual(20 * MB)
    for (const received of left) expect(received).toBeLessThan(GIGABYTE)

    const open = upstream.open.size
    for (const { leave } of [...drips, ...lateDrips, ...still]) leave()
    await until(
      () => Promise.resolve(upstream.open.size),
      (size) => size === 0,
      120,
    )
    const after = memoryOf(pid)
    process.stdout.write(
      `gateway, MB: ${before.rss} before (peak ${before.peak}), ${after.rss} after (peak ${after.peak}); ` +
        `11 answers of 1 GB and 40 drips, ${open} of them open to the end; ${seconds.toFixed(1)} s\n`,
    )
    expect(after.peak - before.rss).toBeLessThan(MAX_GROWTH_MB)

    await until(
      () => remaining(wallet.address),
      (now) => now === credits - 51,
      120,
    )
    const answered = await call(world, token)
    expect(answered.status).toBe(200)
    const log = readFileSync(world.log('gateway'), 'utf8')
    expect(log).toContain('"path":"/rpc"')
    expect(log).not.toContain(upstream.address)
    expect(log).not.toContain(new URL(world.infrastructure.rpcUrl).host)
  },
  600_000,
)
