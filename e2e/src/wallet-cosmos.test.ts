import { Secp256k1Wallet } from '@cosmjs/amino'
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing'
import { StargateClient } from '@cosmjs/stargate'
import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { decodeJson, encodeJson, PaymentRequiredV2, SettleResult } from '@tollgate/protocol'
import { type CosmosSigner, cosmosWallet } from '@tollgate/wallet'
import { randomBytes } from 'node:crypto'
import { openCosmosSession } from './testing/cosmos-session'
import { startWorld, type World } from './testing/world'

type Mode = 'direct' | 'amino'

/** 150,000 gas at the devnet's price. */
const FEE = 3_750n

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

async function customer(mode: Mode, money: bigint) {
  const wallet = cosmosWallet(await signerOf(mode))
  if (!wallet) throw new Error('The wallet is not recognised')
  const { rpcUrl } = world.infrastructure.cosmos
  const address = await wallet.address()
  await fundCosmosWallet(rpcUrl, address, `${money}uatom`)
  const { pubkey: publicKey = '' } = await wallet.signText('')
  const signArbitrary = async (text: string) => (await wallet.signText(text)).signature
  const entrance = { ...world, plan: world.cosmosPlan }
  const { token } = await openCosmosSession(entrance, { address, publicKey, signArbitrary })

  const call = (payment?: string) =>
    fetch(`${world.gateway.url}/rpc`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        ...(payment === undefined ? {} : { 'x-payment': payment }),
      },
      body: JSON.stringify({
        ecosystem: 'cosmos',
        chain_id: world.cosmosPlan.chain_id,
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: { jsonrpc: '2.0', id: 7, method: 'status', params: {} },
      }),
    })

  /** The payment for the offer of a 402, as `X-PAYMENT` carries it. */
  async function sign(changeExtra: (extra: Record<string, unknown>) => Record<string, unknown>) {
    const asked = await call()
    expect(asked.status).toBe(402)
    const { accepts } = PaymentRequiredV2.parse(decodeJson(asked.headers.get('payment-required') ?? ''))
    const entry = accepts[0]!
    const offer = {
      ...entry,
      x402Version: 2 as const,
      amount: BigInt(entry.amount),
      extra: changeExtra(entry.extra ?? {}),
      entry: { ...entry },
    }
    expect([wallet!.canPay(offer), await wallet!.payer(offer)]).toEqual([true, address])
    const { payload, validUntil } = await wallet!.signPayment(offer, {
      now: Math.floor(Date.now() / 1000),
      nodeUrl: () => Promise.resolve(rpcUrl),
      signal: new AbortController().signal,
    })
    expect(validUntil).toBeGreaterThan(Date.now() / 1000)
    const { scheme, network } = offer
    return encodeJson({ paymentPayload: { x402Version: 1, scheme, network, payload } })
  }

  const credits = async () => (await fetch(`${world.gateway.url}/credits/${address}`)).json()
  return { address, call, sign, credits }
}

async function expectServedOnce(
  { call, credits, address }: Awaited<ReturnType<typeof customer>>,
  payment: string,
) {
  const { cosmosPlan } = world
  for (const calls of [1, 2]) {
    const answer = await call(payment)
    const body = await answer.text()
    expect([answer.status, body]).toEqual([200, expect.stringContaining('node_info')])
    const receipt = SettleResult.parse(decodeJson(answer.headers.get('x-payment-response') ?? ''))
    expect(receipt).toMatchObject({ success: true, network: cosmosPlan.network, payer: address })
    expect(await credits()).toEqual([
      { pricing_plan_id: cosmosPlan.id, remaining_credits: cosmosPlan.credits - calls },
    ])
  }
  expect(await chain.searchTx([{ key: 'message.sender', value: address }])).toHaveLength(1)
}

describe.each(['direct', 'amino'] as const)('a Cosmos wallet of the SDK that signs as %s', (mode) => {
  test('signs in, and pays the price and its own fee once', async () => {
    const payer = await customer(mode, price() + FEE + 1n)
    const paid = await held(world.cosmosPlan.pay_to)
    const payment = await payer.sign(({ feePayer: _, ...extra }) => extra)
    await expectServedOnce(payer, payment)
    expect([await held(payer.address), (await held(world.cosmosPlan.pay_to)) - paid]).toEqual([1n, price()])
  })

  test('pays with only the price in its account, if the facilitator offers to pay the fee', async () => {
    const payer = await customer(mode, price())
    const paid = await held(world.cosmosPlan.pay_to)
    const payment = await payer.sign((extra) => {
      expect(extra).toMatchObject({ feePayer: expect.stringMatching(/^cosmos1/) as string })
      return extra
    })
    await expectServedOnce(payer, payment)
    expect([await held(payer.address), (await held(world.cosmosPlan.pay_to)) - paid]).toEqual([0n, price()])
  })
})
