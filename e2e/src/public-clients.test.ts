import { createAuthHeaders } from '@tollgate/facilitator-client'
import { type SettleResult } from '@tollgate/protocol'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment as wrapFetchV2, x402Client } from '@x402/fetch'
import axios from 'axios'
import express from 'express'
import { type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { privateKeyToAccount } from 'viem/accounts'
import { withPaymentInterceptor } from 'x402-axios'
import { paymentMiddleware } from 'x402-express'
import { createSigner, wrapFetchWithPayment } from 'x402-fetch'
import { tokenAt } from './testing/chain'
import { blockNumberCall, signIn, startWorld, walletAt, type World } from './testing/world'

let world: World
let token: ReturnType<typeof tokenAt>

beforeAll(async () => {
  world = await startWorld()
  token = tokenAt(world.foundation.rpcUrl)
}, 120_000)

afterAll(async () => {
  token.close()
  await world.stop()
}, 30_000)

const hex = (privateKey: string) => privateKey as `0x${string}`
const receiptIn = (header: string | null | undefined) =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString()) as SettleResult

/** What must have happened for an answer: one transfer of the plan's price from the wallet, and one credit spent. */
async function expectPaidOnce(address: string, receipt: SettleResult) {
  const { plan, gateway } = world
  expect(receipt).toMatchObject({ success: true, network: plan.network, payer: address })
  expect(await token.transfersOf(receipt.transaction)).toEqual([
    { from: address, to: plan.pay_to, value: BigInt(plan.amount) },
  ])
  const credits: unknown = await (await fetch(`${gateway.url}/credits/${address}`)).json()
  expect(credits).toEqual([{ pricing_plan_id: plan.id, remaining_credits: plan.credits - 1 }])
}

describe('a wallet without an account, through a public x402 client, pays the gateway and is served', () => {
  const request = async (wallet: { privateKey: string; address: string }) => ({
    method: 'POST',
    headers: { authorization: `Bearer ${await signIn(world, wallet)}`, 'content-type': 'application/json' },
    body: JSON.stringify(blockNumberCall),
  })

  test('x402-fetch (v1)', async () => {
    const wallet = walletAt(0)
    const pay = wrapFetchWithPayment(fetch, await createSigner('base-sepolia', hex(wallet.privateKey)))
    const answer = await pay(`${world.gateway.url}/rpc`, await request(wallet))
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ id: 7, result: expect.any(String) as string }),
    ])
    await expectPaidOnce(wallet.address, receiptIn(answer.headers.get('x-payment-response')))
  })

  test('x402-axios (v1)', async () => {
    const wallet = walletAt(1)
    const client = withPaymentInterceptor(
      axios.create(),
      await createSigner('base-sepolia', hex(wallet.privateKey)),
    )
    const { headers } = await request(wallet)
    const answer = await client.post(`${world.gateway.url}/rpc`, blockNumberCall, { headers })
    expect([answer.status, answer.data]).toEqual([
      200,
      expect.objectContaining({ id: 7, result: expect.any(String) as string }),
    ])
    await expectPaidOnce(wallet.address, receiptIn(answer.headers['x-payment-response'] as string))
  })

  test('@x402/fetch (v2)', async () => {
    const wallet = walletAt(2)
    const client = new x402Client()
    registerExactEvmScheme(client, { signer: privateKeyToAccount(hex(wallet.privateKey)) })
    const answer = await wrapFetchV2(fetch, client)(`${world.gateway.url}/rpc`, await request(wallet))
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ id: 7, result: expect.any(String) as string }),
    ])
    await expectPaidOnce(wallet.address, receiptIn(answer.headers.get('x-payment-response')))
  })
})

describe('a third party’s route behind x402-express and our facilitator', () => {
  let shop: Server
  let shopUrl: string
  const payTo = walletAt(9).address as `0x${string}`

  beforeAll(async () => {
    const { clientId, token: clientToken } = world.clientKey
    const app = express()
    const facilitator = {
      url: `${world.facilitator.url}/api/v1` as const,
      createAuthHeaders: createAuthHeaders(clientId, clientToken),
    }
    app.use(
      paymentMiddleware(
        payTo,
        { '/weather': { price: '$0.01', network: 'base-sepolia' } },
        facilitator as never,
      ),
    )
    app.get('/weather', (_req, res) => {
      res.json({ weather: 'sunny' })
    })
    shop = app.listen(0, '127.0.0.1')
    await new Promise((resolve) => shop.once('listening', resolve))
    shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
  })

  afterAll(() => new Promise((resolve) => shop.close(resolve)))

  test('is closed without a payment', async () => {
    expect((await fetch(`${shopUrl}/weather`)).status).toBe(402)
  })

  test('opens for x402-fetch, and the money arrives', async () => {
    const wallet = walletAt(3)
    const before = await token.balanceOf(payTo)
    const pay = wrapFetchWithPayment(fetch, await createSigner('base-sepolia', hex(wallet.privateKey)))
    const answer = await pay(`${shopUrl}/weather`)
    expect([answer.status, await answer.json()]).toEqual([200, { weather: 'sunny' }])
    const { transaction } = receiptIn(answer.headers.get('x-payment-response'))
    expect(await token.transfersOf(transaction)).toEqual([
      { from: wallet.address, to: payTo, value: 10_000n },
    ])
    expect((await token.balanceOf(payTo)) - before).toBe(10_000n)
  })
})
