import { Wallet } from 'ethers'
import { developmentWallets } from '@tollgate/devnet'
import { gzipSync } from 'node:zlib'
import { request } from 'undici'
import { type BenchmarkContext } from '../../benchmark'
import { createPaymentSigner } from '../../payment-signer'
import { residentBytes } from '../../processes'
import { median } from '../../rounds'
import { openWorld, type World } from '../../world'
import { stall } from './memory'

const STALLED = 1_200
const BODY_BYTES = 256 * 1_024
const VERIFICATIONS = 100
/** 13 KiB/s of compressed bodies. */
const ATTACKS_PER_SECOND = 45
const compressed = gzipSync(`{"paymentPayload":[${Array(87_000).fill('{}').join()}]}`, { level: 9 })

export type FacilitatorResult = Awaited<ReturnType<typeof attackFacilitator>>

/** The cost of requests without a client key: stalled uploads and compressed bodies. */
export async function attackFacilitator(place: Pick<BenchmarkContext, 'folder' | 'closeLater'>) {
  const world = await openWorld(place)
  const pid = world.facilitator.pid()
  const url = `${world.facilitator.url}/api/v1/verify`
  const beforeBytes = residentBytes(pid)
  const sockets = await stall(url, ['Content-Type: application/json'], {
    bodyBytes: BODY_BYTES,
    count: STALLED,
  })
  const duringBytes = residentBytes(pid)
  for (const socket of sockets) socket.destroy()

  await medianOfVerify(url, world)
  const aloneMs = await medianOfVerify(url, world)
  const attack = setInterval(() => {
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    request(url, { method: 'POST', headers, body: compressed })
      .then(({ body }) => body.dump())
      .catch(() => undefined)
  }, 1_000 / ATTACKS_PER_SECOND)
  const besideMs = await medianOfVerify(url, world).finally(() => clearInterval(attack))
  return { beforeBytes, duringBytes, aloneMs, besideMs }
}

async function medianOfVerify(url: string, { plan, clientKey }: World): Promise<number> {
  const payment = createPaymentSigner(plan)
  const wallets = developmentWallets.map(({ privateKey }) => new Wallet(privateKey))
  const times: number[] = []
  for (let count = 0; count < VERIFICATIONS; count++) {
    const wallet = wallets[count % wallets.length]
    if (!wallet) throw new Error('There are no development wallets')
    const body = payment.bodyV1(wallet)
    const sentAt = performance.now()
    const answer = await request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-client-id': clientKey.clientId,
        'x-client-token': clientKey.token,
      },
      body,
    })
    const text = await answer.body.text()
    if (!text.includes('"isValid":true')) throw new Error(`A payment was not verified: ${text.slice(0, 200)}`)
    times.push(performance.now() - sentAt)
  }
  return median(times)
}
