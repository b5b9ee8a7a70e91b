import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { CHAIN, LONG_CHAIN } from '../../gateway/chains'
import { compressed, honestCall, largeCall } from './bodies'
import { type Gateway } from './gateway'
import { headersOf, post } from './post'

const MIB = 1_048_576
const BURST = 60
const STALLED = 400
const UNREAD = 64

/** Memory before and during an attack, and how another wallet's calls were answered meanwhile. */
export type MemoryResult = {
  beforeBytes: number
  duringBytes: number
  othersStatuses: number[]
  othersMs: number
}

/** Compressed bodies of 1,145 bytes that expand to 349,425 objects, all at once. */
export async function burst(gateway: Gateway): Promise<MemoryResult> {
  const [attacker, payer] = [await gateway.signIn(0), await gateway.signIn(100)]
  const before = await gateway.probe()
  const headers = { 'content-encoding': 'gzip' }
  const sent = Array.from({ length: BURST }, () =>
    post(gateway, attacker, compressed, { headers }).catch(() => 'cut off'),
  )
  await delay(20)
  const { statuses, ms } = await askAll(gateway, payer, [honestCall])
  await Promise.all(sent)
  return result(before, await gateway.probe(), statuses, ms)
}

/** Uploads of 1 MiB that stop before their last byte. */
export async function stalledUploads(gateway: Gateway): Promise<MemoryResult> {
  const [attacker, payer] = [await gateway.signIn(0), await gateway.signIn(100)]
  const before = await gateway.probe()
  const headers = Object.entries(headersOf(attacker)).map(([name, value]) => `${name}: ${value}`)
  const sockets = await stall(`${gateway.url}/rpc`, headers, { bodyBytes: MIB, count: STALLED })
  const after = await gateway.probe()
  const { statuses, ms } = await askAll(gateway, payer, [honestCall, largeCall])
  for (const socket of sockets) socket.destroy()
  return result(before, after, statuses, ms)
}

/** Large calls whose responses of eight megabytes are not read. */
export async function unreadAnswers(gateway: Gateway): Promise<MemoryResult> {
  const [attacker, payer] = [await gateway.signIn(100), await gateway.signIn(100)]
  const before = await gateway.probe()
  const dispatcher = new Agent()
  const body = largeCall.replace(`"${CHAIN}"`, `"${LONG_CHAIN}"`)
  const headers = headersOf(attacker)
  const unread = await Promise.all(
    Array.from({ length: UNREAD }, () =>
      request(`${gateway.url}/rpc`, { method: 'POST', headers, body, dispatcher }),
    ),
  )
  for (const answer of unread) answer.body.on('error', () => undefined)
  const { statuses, ms } = await askAll(gateway, payer, [largeCall, honestCall])
  const after = await gateway.probe()
  await dispatcher.destroy()
  return result(before, after, statuses, ms)
}

/** Sends all bytes of each request but the last, and waits two seconds. */
export async function stall(
  url: string,
  headers: readonly string[],
  { bodyBytes, count }: { bodyBytes: number; count: number },
): Promise<Socket[]> {
  const { port, pathname } = new URL(url)
  const head = [`POST ${pathname} HTTP/1.1`, 'Host: bench', ...headers, `Content-Length: ${bodyBytes}`]
  const bytes = Buffer.concat([Buffer.from([...head, '', ''].join('\r\n')), Buffer.alloc(bodyBytes - 1, ' ')])
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const socket = connect(Number(port), '127.0.0.1')
    socket.on('error', () => undefined).resume()
    await once(socket, 'connect')
    socket.write(bytes)
    sockets.push(socket)
  }
  await delay(2_000)
  return sockets
}

async function askAll(gateway: Gateway, token: string, bodies: readonly string[]) {
  const askedAt = performance.now()
  const statuses: number[] = []
  for (const body of bodies) statuses.push(await post(gateway, token, body))
  return { statuses, ms: performance.now() - askedAt }
}

const result = (
  before: { rssBytes: number },
  during: { rssBytes: number },
  othersStatuses: number[],
  othersMs: number,
): MemoryResult => ({
  beforeBytes: before.rssBytes,
  duringBytes: during.rssBytes,
  othersStatuses,
  othersMs,
})
