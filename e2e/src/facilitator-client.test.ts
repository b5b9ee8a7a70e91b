import { COSMOS_CHAIN_ID, developmentCosmosSigner } from '@tollgate/cosmos-devchain'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { createFacilitatorClient, facilitatorConfig, FacilitatorError } from '@tollgate/facilitator-client'
import { type SettleRequest } from '@tollgate/protocol'
import { HTTPFacilitatorClient } from '@x402/core/server'
import { randomUUID } from 'node:crypto'
import { Wallet } from 'ethers'
import { tokenAt } from './testing/chain'
import { newThirdParty, type ClientKey } from './testing/client-keys'
import { settleRequest, until } from './testing/paying'
import { startWorld, walletAt, type World } from './testing/world'

let world: World
let token: ReturnType<typeof tokenAt>
let thirdParty: Awaited<ReturnType<typeof newThirdParty>>
const closing: (() => unknown)[] = []

beforeAll(async () => {
  world = await startWorld()
  closing.push(() => world.stop())
  token = tokenAt(world.infrastructure.rpcUrl)
  closing.push(() => token.close())
  thirdParty = await newThirdParty(world.facilitator)
}, 120_000)

afterAll(async () => {
  for (const close of closing.reverse()) await close()
}, 30_000)

function clientWith({ clientId, token: clientToken }: ClientKey) {
  const client = createFacilitatorClient({ url: `${world.facilitator.url}/api/v1`, clientId, clientToken })
  closing.push(() => client.close())
  return client
}

const newRequest = () => settleRequest(walletAt(0), Wallet.createRandom().address, 10_000n)

const paid = ({ paymentRequirements }: SettleRequest) => token.balanceOf(paymentRequirements.payTo)
const refusal = (result: Promise<unknown>) =>
  result.then(
    () => undefined,
    (error: unknown) => (error instanceof FacilitatorError ? [error.kind, error.status, error.code] : error),
  )

describe('the client with a real facilitator', () => {
  test('lists networks, verifies, settles, and gets the same success for each repeated request', async () => {
    const client = clientWith(await thirdParty.newKey())
    const networks = await client.networks()
    expect(networks).toEqual([
      expect.objectContaining({ network: 'base-sepolia', status: 'active' }),
      expect.objectContaining({ network: COSMOS_CHAIN_ID, status: 'active' }),
    ])
    const supported = (await client.supported()).map(({ network }) => network)
    expect(supported).toEqual(['base-sepolia', COSMOS_CHAIN_ID])
    const assets = (await client.assets()).map(({ network, asset, active }) => [network, asset, active])
    expect(assets.sort()).toEqual([
      ['base-sepolia', USDC_ADDRESS, true],
      [COSMOS_CHAIN_ID, 'uatom', true],
    ])

    const request = await newRequest()
    expect(await client.verify(request)).toMatchObject({ isValid: true, payer: walletAt(0).address })
    const settled = await client.settle(request, { idempotencyKey: 'order-1' })
    expect(settled).toMatchObject({ success: true, payer: walletAt(0).address })
    expect(await client.settle(request, { idempotencyKey: 'order-1' })).toEqual(settled)
    expect(await client.settle(request, { idempotencyKey: 'order-2' })).toMatchObject({
      success: false,
      errorReason: 'duplicate_settlement',
    })
    expect(await paid(request)).toBe(10_000n)
  })

  test('gets the reason for the refusal of its key, and no money moves', async () => {
    const revoked = await thirdParty.newKey()
    await thirdParty.revoke(revoked)
    const narrow = await thirdParty.newKey({ scope: 'verify' })
    const wrong = { ...(await thirdParty.newKey()), token: 'of-no-client' }
    const request = await newRequest()
    const settle = (key: ClientKey) => refusal(clientWith(key).settle(request, { idempotencyKey: 'a' }))
    expect(await settle(revoked)).toEqual(['unauthorized', 401, 'UNAUTHORIZED'])
    expect(await settle(wrong)).toEqual(['unauthorized', 401, 'UNAUTHORIZED'])
    expect(await settle(narrow)).toEqual(['unauthorized', 403, 'FORBIDDEN'])
    expect(await clientWith(narrow).verify(request)).toMatchObject({ isValid: true })
    expect(await refusal(clientWith(revoked).supported())).toEqual(['unauthorized', 401, 'UNAUTHORIZED'])
    expect(await paid(request)).toBe(0n)
  })

  test('gets a rejection for a payload that cannot be parsed', async () => {
    const client = clientWith(await thirdParty.newKey())
    const { paymentPayload, paymentRequirements } = await newRequest()
    const unreadable = { paymentPayload: { ...paymentPayload, payload: 'no payment' }, paymentRequirements }
    expect(await refusal(client.settle(unreadable, { idempotencyKey: 'a' }))).toEqual([
      'rejected',
      400,
      'INVALID_PAYLOAD',
    ])
    const shapeless = { paymentPayload, paymentRequirements: { ...paymentRequirements, asset: '' } }
    expect(await refusal(client.verify(shapeless))).toEqual(['rejected', 400, 'INVALID_REQUEST'])
  })

  test('settles each of many orders once while the facilitator is killed', async () => {
    const client = clientWith(await thirdParty.newKey())
    const requests = await Promise.all(Array.from({ length: 8 }, newRequest))
    const settleUntilDone = (request: SettleRequest) => {
      const idempotencyKey = randomUUID()
      return until(
        () => client.settle(request, { idempotencyKey }),
        ({ errorReason }) => errorReason !== 'settlement_pending',
      )
    }
    const orders = requests.map(settleUntilDone)
    process.kill(world.facilitator.pid(), 'SIGKILL')
    const settled = await Promise.all(orders)
    expect(settled.map(({ success }) => success)).toEqual(requests.map(() => true))
    expect(await Promise.all(requests.map(paid))).toEqual(requests.map(() => 10_000n))
  })
})

test('facilitatorConfig configures the x402 version 2 client', async () => {
  const { clientId, token: clientToken } = await thirdParty.newKey()
  const config = facilitatorConfig(`${world.facilitator.url}/api/v2`, { clientId, clientToken })
  const { kinds } = await until(
    () => new HTTPFacilitatorClient(config).getSupported(),
    (supported) => supported.kinds.length > 0,
  )
  const kind = { x402Version: 2, scheme: 'exact' }
  expect(kinds).toEqual([
    { ...kind, network: 'eip155:84532' },
    {
      ...kind,
      network: `cosmos:${COSMOS_CHAIN_ID}`,
      extra: { feePayer: developmentCosmosSigner.address, feePayerSigns: true },
    },
  ])
})
