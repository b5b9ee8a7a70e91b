import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { requireFrom } from '../verify/borrowed.mjs'
import { compressed, honestCall, hostileBodies, largeCall } from './bodies.mjs'
import { LONG } from './gateway.mjs'

const { Agent, request } = requireFrom('apps/gateway')('undici')

const MIB = 1_048_576
const CONNECTIONS = 200
const BYTES_PER_SECOND = 10_000_000
const PAUSE_MS = 10
const PAYERS = 10

const headersOf = (token, more = {}) => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  ...more,
})

async function post({ url }, token, body, { headers, dispatcher } = {}) {
  const answer = await request(`${url}/rpc`, {
    method: 'POST',
    headers: headersOf(token, headers),
    body,
    ...(dispatcher ? { dispatcher } : {}),
  })
  await answer.body.dump()
  return answer.statusCode
}

/** The event loop time of each body, sent one at a time by a wallet without credits. */
export async function costOfBodies(gateway, rounds) {
  const token = await gateway.signIn(0)
  for (let warmUp = 0; warmUp < 50; warmUp++) await post(gateway, token, honestCall)
  const costs = []
  for (const [name, body] of [...Object.entries(hostileBodies), ['a call of 200 bytes', honestCall]]) {
    const times = []
    let longest = 0
    let status
    for (let round = -2; round < rounds; round++) {
      const before = await gateway.probe()
      status = await post(gateway, token, body)
      const after = await gateway.probe()
      if (round >= 0) times.push(after.activeMs - before.activeMs)
      if (round >= 0) longest = Math.max(longest, after.longestMs)
    }
    times.sort((one, other) => one - other)
    costs.push({
      name,
      bytes: Buffer.byteLength(body),
      status,
      'least ms': tenth(times[0]),
      'median ms': tenth(times[Math.floor(times.length / 2)]),
      'longest block ms': tenth(longest),
    })
  }
  return costs
}

export async function payingCallers(gateway, seconds) {
  const payers = await Promise.all(Array.from({ length: PAYERS }, () => gateway.signIn(1_000_000)))
  await latencies(gateway, payers, 2)
  const alone = await latencies(gateway, payers, seconds)
  const stop = await attack(gateway)
  await delay(1_000)
  const beside = await latencies(gateway, payers, seconds)
  const sent = await stop()
  return {
    'p50 alone': tenth(alone.p50),
    'p50 beside': tenth(beside.p50),
    'p99 alone': tenth(alone.p99),
    'p99 beside': tenth(beside.p99),
    ratio: Math.round((100 * beside.p99) / alone.p99) / 100,
    'MB/s sent': tenth(sent.bytesPerSecond / 1e6),
    statuses: sent.statuses,
  }
}

/** One call of each caller at a time, with pauses, to stay below the rate limit and not load the machine. */
async function latencies(gateway, payers, seconds) {
  const dispatcher = new Agent({ connections: payers.length })
  const end = performance.now() + 1000 * seconds
  const times = []
  async function call(token) {
    while (performance.now() < end) {
      const sentAt = performance.now()
      const status = await post(gateway, token, honestCall, { dispatcher })
      if (status !== 200) throw new Error(`a paid call was answered ${status}`)
      times.push(performance.now() - sentAt)
      await delay(PAUSE_MS)
    }
  }
  await Promise.all(payers.map(call))
  await dispatcher.close()
  times.sort((one, other) => one - other)
  const at = (share) => times[Math.floor(share * (times.length - 1))]
  return { p50: at(0.5), p99: at(0.99) }
}

async function attack(gateway) {
  const tokens = await Promise.all(Array.from({ length: 20 }, () => gateway.signIn(0)))
  const bodies = Object.values(hostileBodies)
  const dispatcher = new Agent({ connections: CONNECTIONS })
  const statuses = {}
  const startedAt = performance.now()
  let isOver = false
  let sent = 0
  let next = 0
  async function lane() {
    while (!isOver) {
      const aheadMs = (1000 * sent) / BYTES_PER_SECOND - (performance.now() - startedAt)
      if (aheadMs > 0) await delay(Math.min(aheadMs, 1_000))
      if (isOver || (1000 * sent) / BYTES_PER_SECOND > performance.now() - startedAt) continue
      const body = bodies[next++ % bodies.length]
      sent += Buffer.byteLength(body)
      const status = await post(gateway, tokens[next % tokens.length], body, { dispatcher }).catch(
        () => 'cut off',
      )
      statuses[status] = (statuses[status] ?? 0) + 1
    }
  }
  const lanes = Promise.all(Array.from({ length: CONNECTIONS }, lane))
  return async () => {
    isOver = true
    const bytesPerSecond = (1000 * sent) / (performance.now() - startedAt)
    await lanes
    await dispatcher.destroy()
    const counts = Object.entries(statuses).map(([status, count]) => `${count} x ${status}`)
    return { bytesPerSecond, statuses: counts.join(', ') }
  }
}

export async function burst(gateway) {
  const [attacker, payer] = [await gateway.signIn(0), await gateway.signIn(100)]
  const before = await gateway.probe()
  const headers = { 'content-encoding': 'gzip' }
  const sent = Array.from({ length: 60 }, () =>
    post(gateway, attacker, compressed, { headers }).catch(() => 'cut off'),
  )
  await delay(20)
  const askedAt = performance.now()
  await post(gateway, payer, honestCall)
  const waited = performance.now() - askedAt
  const statuses = new Set(await Promise.all(sent))
  const after = await gateway.probe()
  return row('60 compressed bodies at once', {
    'before the bounds': 'others wait 42 s, memory 202 to 2,181 MB',
    now: `others wait ${Math.round(waited)} ms, memory ${mb(before)} to ${mb(after)} MB, answered ${[...statuses]}`,
  })
}

/** Four hundred uploads of 1 MiB that stop before their last byte. */
export async function stalledUploads(gateway) {
  const token = await gateway.signIn(0)
  const payer = await gateway.signIn(100)
  const { port } = new URL(gateway.url)
  const before = await gateway.probe()
  const head = [
    'POST /rpc HTTP/1.1',
    'Host: bench',
    ...Object.entries(headersOf(token)).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${MIB}`,
    '',
    '',
  ].join('\r\n')
  const bytes = Buffer.concat([Buffer.from(head), Buffer.alloc(MIB - 1, ' ')])
  const sockets = []
  for (let count = 0; count < 400; count++) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined).resume()
    await once(socket, 'connect')
    socket.write(bytes)
    sockets.push(socket)
  }
  await delay(2_000)
  const after = await gateway.probe()
  const statuses = [await post(gateway, payer, honestCall), await post(gateway, payer, largeCall)]
  for (const socket of sockets) socket.destroy()
  return row('400 uploads that stall', {
    'before the bounds': 'memory 242 to 596 MB',
    now: `memory ${mb(before)} to ${mb(after)} MB; another wallet's calls are answered ${statuses}`,
  })
}

/** Sixty-four large calls whose responses of eight megabytes are not read. */
export async function unreadAnswers(gateway) {
  const [attacker, payer] = [await gateway.signIn(100), await gateway.signIn(100)]
  const dispatcher = new Agent()
  const body = largeCall.replace('"84532"', `"${LONG}"`)
  const unread = await Promise.all(
    Array.from({ length: 64 }, () =>
      request(`${gateway.url}/rpc`, { method: 'POST', headers: headersOf(attacker), body, dispatcher }),
    ),
  )
  for (const answer of unread) answer.body.on('error', () => undefined)
  const statuses = [await post(gateway, payer, largeCall), await post(gateway, payer, honestCall)]
  await dispatcher.destroy()
  return row('64 large calls with unread answers', {
    'before the bounds': '503 for everybody else, for two minutes',
    now: `another wallet's large and small call are answered ${statuses}`,
  })
}

const row = (name, figures) => ({ name, ...figures })
const tenth = (number) => Math.round(10 * number) / 10
const mb = ({ rssBytes }) => Math.round(rssBytes / 1e6)
