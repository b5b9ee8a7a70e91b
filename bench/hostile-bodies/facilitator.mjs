import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect } from 'node:net'
import { clearInterval, setInterval } from 'node:timers'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { requireFrom } from '../verify/borrowed.mjs'
import { startFacilitator } from '../verify/facilitator.mjs'
import { signPayments } from '../verify/payments.mjs'

const { request } = requireFrom('apps/gateway')('undici')

const KIB = 1_024
const VERIFICATIONS = 100
/** 13 KiB/s of them. */
const ATTACKS_PER_SECOND = 45
const compressed = gzipSync(`{"paymentPayload":[${Array(87_000).fill('{}').join()}]}`, { level: 9 })

/** The cost of requests without a client key: stalled uploads and compressed bodies. */
export async function facilitatorAttacks({ folder, closeLater }) {
  const facilitator = await startFacilitator({ folder, closeLater })
  const before = await facilitator.residentBytes()
  const sockets = await stall(facilitator, 1_200)
  const after = await facilitator.residentBytes()
  for (const socket of sockets) socket.destroy()

  await medianOfVerify(facilitator)
  const alone = await medianOfVerify(facilitator)
  const attack = setInterval(() => {
    void request(facilitator.url + facilitator.path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: compressed,
    })
      .then(({ body }) => body.dump())
      .catch(() => undefined)
  }, 1_000 / ATTACKS_PER_SECOND)
  const beside = await medianOfVerify(facilitator)
  clearInterval(attack)

  const mb = (bytes) => Math.round(bytes / 1e6)
  const tenth = (ms) => Math.round(10 * ms) / 10
  return [
    {
      name: 'facilitator: 1,200 uploads that stall',
      'before the bounds': 'memory 204 to 510 MB',
      now: `memory ${mb(before)} to ${mb(after)} MB`,
    },
    {
      name: 'facilitator: 13 KiB/s of compressed bodies',
      'before the bounds': '/settle from 170 to 600 and up to 1,100 ms',
      now: `/verify from ${tenth(alone)} to ${tenth(beside)} ms (median)`,
    },
  ]
}

async function stall({ url, path }, count) {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: bench',
    'Content-Type: application/json',
    `Content-Length: ${256 * KIB}`,
  ]
  const bytes = Buffer.concat([Buffer.from([...head, '', ''].join('\r\n')), Buffer.alloc(256 * KIB - 1, ' ')])
  const sockets = []
  for (let index = 0; index < count; index++) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.on('error', () => undefined).resume()
    await once(socket, 'connect')
    socket.write(bytes)
    sockets.push(socket)
  }
  await delay(2_000)
  return sockets
}

async function medianOfVerify({ url, path, headers }) {
  const times = []
  for (const body of signPayments(VERIFICATIONS)) {
    const sentAt = performance.now()
    const answer = await request(url + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    })
    const text = await answer.body.text()
    if (!text.includes('"isValid":true')) throw new Error(`a payment was not verified: ${text.slice(0, 200)}`)
    times.push(performance.now() - sentAt)
  }
  return times.sort((one, other) => one - other)[VERIFICATIONS / 2]
}
