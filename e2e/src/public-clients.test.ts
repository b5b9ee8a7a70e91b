import { type SettleResult } from '@tollgate/protocol'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment as wrapFetchV2, x402Client } from '@x402/fetch'
import axios from 'axios'
import { privateKeyToAccount } from 'viem/accounts'
import { withPaymentInterceptor } from 'x402-axios'
import { createSigner, wrapFetchWithPayment } from 'x402-fetch'
import { tokenAt } from './testing/chain'
import { blockNumberCall, signIn, startWorld, walletAt, type World } from './testing/world'

let world: World
let token: ReturnType<typeof tokenAt>

beforeAll(async () => {
  world = await startWorld()
  token = tokenAt(world.infrastructure.rpcUrl)
}, 120_000)

afterAll(async () => {
  token.close()
  await world.stop()
}, 30_000)

const hex = (privateKey: string) => privateKey as `0x${string}`
const receiptIn = (header: string | null | undefined) =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString()) as SettleResult

async function expectPaidOnce(address: string, receipt: SettleResult) {
  const { plan, gateway } = world
  expect(receipt).toMatchObject({ success: true, network: plan.network, payer: address })
  expect(await token.transfersOf(receipt.transaction, address)).toEqual([
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
