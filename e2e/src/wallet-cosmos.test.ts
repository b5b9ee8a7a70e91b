import { Secp256k1Wallet } from '@cosmjs/amino'
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing'
import { StargateClient } from '@cosmjs/stargate'
import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { createTollgate, memoryStorage, type CosmosSigner } from '@tollgate/wallet'
import { randomBytes } from 'node:crypto'
import { startWorld, type World } from './testing/world'

type Mode = 'direct' | 'amino'

let world: World
let chain: StargateClient

beforeAll(async () => {
  world = await startWorld()
  chain = await StargateClient.connect(world.infrastructure.cosmos.rpcUrl)
}, 120_000)

afterAll(async () => {
  chain.disconnect()
  await world.stop()
}, 30_000)

const held = async (address: string) => BigInt((await chain.getBalance(address, 'uatom')).amount)
const price = () => BigInt(world.cosmosPlan.amount)

/** A signer of one mode; one that signs directly leaves the sign-in to another wallet with its key. */
async function signerOf(mode: Mode) {
  const key = randomBytes(32)
  const amino: CosmosSigner = await Secp256k1Wallet.fromKey(key, 'cosmos')
  if (mode === 'amino') return amino
  return {
    signer: await DirectSecp256k1Wallet.fromKey(key, 'cosmos'),
    async signArbitrary(signer: string, text: string) {
      const value = { signer, data: Buffer.from(text).toString('base64') }
      const signed = await amino.signAmino!(signer, {
        chain_id: '',
        account_number: '0',
        sequence: '0',
        fee: { gas: '0', amount: [] },
        msgs: [{ type: 'sign/MsgSignData', value }],
        memo: '',
      })
      return signed.signature
    },
  }
}

async function customer(mode: Mode, nodes: Record<string, string> = {}) {
  const { cosmosPlan, gateway, infrastructure } = world
  const limit = {
    network: `cosmos:${cosmosPlan.chain_id}`,
    asset: cosmosPlan.asset_address,
    perPayment: price(),
  }
  const tollgate = createTollgate({
    url: gateway.url,
    wallet: await signerOf(mode),
    limits: { assets: [limit] },
    storage: memoryStorage(),
    nodes,
  })
  const address = await tollgate.address()
  await fundCosmosWallet(infrastructure.cosmos.rpcUrl, address, `${price()}uatom`)
  return { tollgate, address }
}

test.each(['direct', 'amino'] as const)(
  'a wallet that signs as %s signs in, and pays with only the price in its account',
  async (mode) => {
    const { tollgate, address } = await customer(mode)
    const paid = await held(world.cosmosPlan.pay_to)
    const calls = [1, 2, 3].map(() => tollgate.request(world.cosmosPlan.chain_id, 'status', {}))
    expect(await Promise.all(calls)).toEqual(
      [1, 2, 3].map(() => expect.objectContaining({ node_info: expect.anything() as object }) as object),
    )
    expect(await tollgate.credits()).toEqual([
      { pricing_plan_id: world.cosmosPlan.id, remaining_credits: world.cosmosPlan.credits - 3 },
    ])
    expect([await held(address), (await held(world.cosmosPlan.pay_to)) - paid]).toEqual([0n, price()])
    expect(await chain.searchTx([{ key: 'message.sender', value: address }])).toHaveLength(1)

    await expect(tollgate.buy()).rejects.toMatchObject({ code: 'PAYMENT_REFUSED' })
    tollgate.close()
  },
)

test('a wallet reads its account through the gateway, and pays with that', async () => {
  const { cosmosPlan, gateway } = world
  const node = `${gateway.url}/accounts/${cosmosPlan.chain_id}`
  const { tollgate, address } = await customer('direct', { [cosmosPlan.chain_id]: node })
  expect(await tollgate.buy()).toMatchObject({ credits: cosmosPlan.credits })
  expect(await held(address)).toBe(0n)
  await expect(tollgate.buy()).rejects.toMatchObject({ code: 'PAYMENT_REFUSED' })

  const unknown = createTollgate({
    url: gateway.url,
    wallet: await signerOf('amino'),
    limits: { assets: [{ network: `cosmos:${cosmosPlan.chain_id}`, asset: 'uatom', perPayment: price() }] },
    nodes: { [cosmosPlan.chain_id]: node },
  })
  await expect(unknown.buy()).rejects.toMatchObject({
    code: 'PAYMENT_REFUSED',
    message: expect.stringContaining('has no account on') as string,
  })
  for (const one of [tollgate, unknown]) one.close()
})
