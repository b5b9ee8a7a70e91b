import {
  deployPlainToken,
  mintPlainToken,
  PERMIT2_ADDRESS,
  send,
  X402_PERMIT2_PROXY_ADDRESS,
  type PlainTokenTrait,
} from '@tollgate/devnet'
import { encodeJson } from '@tollgate/protocol'
import { wrapFetchWithPayment } from '@x402/fetch'
import { Contract, Interface, JsonRpcProvider, Signature, Wallet } from 'ethers'
import { applyCatalog, type Plan } from './testing/catalog'
import { newThirdParty } from './testing/client-keys'
import { newCustomer } from './testing/customers'
import { requiredIn } from './testing/expect-payment'
import { call, until } from './testing/paying'
import { plainBlockNumber, plainUrl, postOf } from './testing/plain-calls'
import {
  payByPermit2,
  payingClient,
  receiptOf,
  signedByPermit2,
  type Paid,
  type Permit2Payload,
} from './testing/public-payers'
import { openPermit2Merchant, PRICE, type Merchant } from './testing/merchants'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { walletAt } from './testing/world'

let world: ObservedWorld
let merchant: Merchant
let thirdParty: Awaited<ReturnType<typeof newThirdParty>>

beforeAll(async () => {
  world = await startObservedWorld()
  thirdParty = await newThirdParty(world.facilitator)
  merchant = await openPermit2Merchant(world.facilitator, await thirdParty.newKey())
}, 120_000)

afterAll(async () => {
  await merchant.close()
  await world.stop()
}, 30_000)

async function expectPaid(payer: string, { status, body, receipt }: Paid) {
  expect([status, body]).toEqual([200, merchant.content])
  expect(receipt).toMatchObject({ success: true, payer })
  expect(await world.token.transfersOf(receipt.transaction ?? '', payer)).toEqual([
    { from: payer, to: merchant.payTo, value: PRICE },
  ])
}

test('a wallet without ether pays a public server by Permit2, with the token’s own permit, again and again', async () => {
  const { address, privateKey } = await world.newPayer()
  for (let paid = 1n; paid <= 2n; paid++) {
    await expectPaid(address, await payByPermit2(merchant.url, privateKey, world.infrastructure.rpcUrl))
    expect(await world.token.balanceOf(address)).toBe(BUDGET - paid * PRICE)
  }
  expect(await world.token.balanceOf(merchant.payTo)).toBe(2n * PRICE)
})

test('concurrent wallets each pay exactly once', async () => {
  const payers = [await world.newPayer(), await world.newPayer(), await world.newPayer()]
  const before = await world.token.balanceOf(merchant.payTo)
  const answers = await Promise.all(
    payers.map(({ privateKey }) => payByPermit2(merchant.url, privateKey, world.infrastructure.rpcUrl)),
  )
  for (const [i, { address }] of payers.entries()) {
    await expectPaid(address, answers[i]!)
    expect(await world.token.balanceOf(address)).toBe(BUDGET - PRICE)
  }
  expect(await world.token.balanceOf(merchant.payTo)).toBe(before + 3n * PRICE)
})

test('a wallet without funds is not served, and no money moves', async () => {
  const { privateKey } = Wallet.createRandom()
  const before = await world.token.balanceOf(merchant.payTo)
  const { status, body } = await payByPermit2(merchant.url, privateKey, world.infrastructure.rpcUrl)
  expect(status).toBe(402)
  expect(body).not.toContain(merchant.content)
  expect(await world.token.balanceOf(merchant.payTo)).toBe(before)
})

const proxyAbi = [
  'function settleWithPermit((uint256 value, uint256 deadline, bytes32 r, bytes32 s, uint8 v), ((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline), address owner, (address to, uint256 validAfter), bytes signature)',
]

/** Settles through the proxy, as the facilitator would; `sender` pays the gas. */
async function settleByProxy({ privateKey }: { privateKey: string }, signed: Permit2Payload) {
  const { signature, permit2Authorization: transfer, eip2612GasSponsoring } = signed
  const permit = eip2612GasSponsoring?.info
  if (!permit) throw new Error('There is no permit to hand in')
  const { r, s, v } = Signature.from(permit.signature)
  const provider = new JsonRpcProvider(world.infrastructure.rpcUrl, undefined, { staticNetwork: true })
  const proxy = new Contract(X402_PERMIT2_PROXY_ADDRESS, proxyAbi, new Wallet(privateKey, provider))
  const sent = await proxy
    .getFunction('settleWithPermit')
    .send(
      { value: permit.amount, deadline: permit.deadline, r, s, v },
      transfer,
      transfer.from,
      transfer.witness,
      signature,
    )
  await sent.wait()
  provider.destroy()
}

describe('at the gateway, in a session,', () => {
  async function buyer() {
    const { address, wallet, session } = await newCustomer(world, world.plan, BUDGET)
    const { body } = await call(world, session.token)
    const sign = () => signedByPermit2(body, wallet.privateKey, world.infrastructure.rpcUrl)
    const pay = (payment: string) => call(world, session.token, payment)
    return { address, sign, signed: await sign(), pay }
  }
  const inVersion1 = (payload: object) =>
    encodeJson({ x402Version: 1, scheme: 'exact', network: world.plan.network, payload })
  const paymentsOf = async (address: string) =>
    (await world.ledger.payments(address)).map(({ nonce, status, grants }) => [nonce, status, grants])
  async function expectBoughtOnce(address: string, signed: Permit2Payload, calls: number) {
    const { amount, credits, pay_to } = world.plan
    expect(await world.token.balanceOf(address)).toBe(BUDGET - BigInt(amount))
    expect(await world.ledger.balance(address)).toBe(BigInt(credits - calls))
    const nonce = `permit2 ${signed.permit2Authorization.nonce}`
    expect(await paymentsOf(address)).toEqual([[nonce, 'credited', 1n]])
    const [{ transaction } = { transaction: null }] = await world.ledger.payments(address)
    expect(await world.token.transfersOf(transaction ?? '', address)).toEqual([
      { from: address, to: pay_to, value: BigInt(amount) },
    ])
  }

  test('a payment by Permit2 buys the plan once, in whatever form it is repeated', async () => {
    const { address, signed, pay } = await buyer()
    expect(signed).toHaveProperty('eip2612GasSponsoring')
    const forms = [
      inVersion1(signed),
      inVersion1({ type: 'permit2', permit2: signed }),
      encodeJson(signed),
      JSON.stringify(signed),
      encodeJson({ type: 'permit2', permit2: signed }),
    ]
    for (const form of forms) expect((await pay(form)).status).toBe(200)
    await expectBoughtOnce(address, signed, forms.length)
  })

  test('it is one purchase in thirty concurrent calls', async () => {
    const { address, signed, pay } = await buyer()
    const answers = await Promise.all(Array.from({ length: 30 }, () => pay(inVersion1(signed))))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    await expectBoughtOnce(address, signed, 30)
  })

  test('of another wallet it buys nothing, and remains valid for its owner', async () => {
    const [owner, thief] = [await buyer(), await buyer()]
    expect((await thief.pay(inVersion1(owner.signed))).status).toBe(402)
    expect([await world.ledger.balance(thief.address), await paymentsOf(thief.address)]).toEqual([0n, []])
    expect((await owner.pay(inVersion1(owner.signed))).status).toBe(200)
    await expectBoughtOnce(owner.address, owner.signed, 1)
  })

  test('without a required permit it is refused with the reason, and a complete one is accepted', async () => {
    const { address, signed, sign, pay } = await buyer()
    const bare = inVersion1({ ...signed, eip2612GasSponsoring: undefined })
    const refused = [await pay(bare), await pay(bare)]
    for (const { status, body } of refused)
      expect([status, body.error]).toEqual([402, 'invalid_transaction_state'])
    expect(await world.token.balanceOf(address)).toBe(BUDGET)
    expect((await pay(inVersion1(await sign()))).status).toBe(200)
    expect(await world.token.balanceOf(address)).toBe(BUDGET - BigInt(world.plan.amount))
    expect(await world.ledger.balance(address)).toBe(BigInt(world.plan.credits - 1))
  })

  test('it buys the plan once if another sender submitted it to the proxy before', async () => {
    const { address, signed, pay } = await buyer()
    await settleByProxy(walletAt(0), signed)
    expect((await pay(inVersion1(signed))).status).toBe(200)
    await expectBoughtOnce(address, signed, 1)
  })
})

type SupportedByGateway = { kinds: { asset: string; assetTransferMethod?: string }[] }

describe('in a token without EIP-3009', () => {
  const erc20 = new Interface([
    'function approve(address spender, uint256 value) returns (bool)',
    'function balanceOf(address) view returns (uint256)',
    'function allowance(address, address) view returns (uint256)',
  ])
  const amount = 10n ** 16n
  const budget = 3n * amount

  /** Registered as operators do, and sold for at the gateway. A token with permits has a domain. */
  async function register(trait: PlainTokenTrait, id: number) {
    const { facilitator, secrets, infrastructure, plan } = world
    const asset = await deployPlainToken(infrastructure.rpcUrl, trait)
    const answer = await fetch(`${facilitator.url}/api/v1/admin/assets`, {
      ...postOf(
        { network: plan.network, asset, symbol: 'PLN', decimals: 18 },
        { authorization: `Bearer ${secrets.adminToken}` },
      ),
    })
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { data: { assetTransferMethod: 'permit2' } },
    ])
    const domain = trait === 'Permits' ? { name: 'Plain', version: '1' } : undefined
    const own = {
      ...plan,
      ...{ id, asset_address: asset, amount: amount.toString(), decimals: 18, display_denom: 'PLN' },
      ...{ asset_name: domain?.name, asset_version: domain?.version, transfer_methods: ['permit2'] },
    }
    return { asset, domain, plan: own as Plan }
  }

  /** A wallet with tokens and without ether, which has approved Permit2 by a transaction or nothing at all. */
  async function newHolder(asset: string, approves: boolean) {
    const { rpcUrl } = world.infrastructure
    const { address, privateKey } = Wallet.createRandom()
    await mintPlainToken(rpcUrl, asset, address, budget)
    const data = erc20.encodeFunctionData('approve', [PERMIT2_ADDRESS, budget])
    if (approves) await send(rpcUrl, { to: asset, data }, address)
    const provider = new JsonRpcProvider(rpcUrl, undefined, { staticNetwork: true, cacheTimeout: -1 })
    const token = new Contract(asset, erc20, provider)
    const balanceOf = async (of: string) => (await token.getFunction('balanceOf')(of)) as bigint
    return { address, privateKey, balanceOf, close: () => provider.destroy() }
  }

  /** The client's default is to pay only in tokens that it knows. */
  const payIn = (asset: string, { privateKey }: { privateKey: string }) => {
    const client = payingClient(privateKey, {
      rpcUrl: world.infrastructure.rpcUrl,
      select: (_version, accepts) => accepts.find((one) => one.asset === asset)!,
    }).setSpendControls({ allowedAssets: [{ network: 'eip155:84532', asset }] })
    return wrapFetchWithPayment(fetch, client)
  }

  test.each<[string, PlainTokenTrait, number]>([
    ['with its own permit', 'Permits', 21],
    ['with an approval, as it has no permits', 'Plain', 22],
  ])('an unmodified client pays the gateway and a public server, %s', async (_, trait, id) => {
    const { asset, domain, plan } = await register(trait, id)
    const { rpcUrl } = world.infrastructure
    await applyCatalog(world, { plans: [plan], upstreamUrl: rpcUrl })
    const get = async (path: string): Promise<unknown> => (await fetch(`${world.gateway.url}${path}`)).json()
    expect(await get('/pricing')).toMatchObject([
      expect.not.objectContaining({ asset_transfer_method: 'permit2' }),
      expect.not.objectContaining({ asset_transfer_method: 'permit2' }),
      { id, asset_transfer_method: 'permit2' },
    ])
    const holder = await newHolder(asset, domain === undefined)

    const url = plainUrl(world, plan.chain_id)
    const unpaid = (await (await fetch(url, postOf(plainBlockNumber))).json()) as {
      accepts: { asset: string }[]
    }
    expect(unpaid.accepts.map((one) => one.asset)).toEqual([world.plan.asset_address])
    const before = await holder.balanceOf(plan.pay_to)
    const served = await payIn(asset, holder)(url, postOf(plainBlockNumber))
    expect([served.status, await served.json()]).toMatchObject([200, { id: 7 }])
    expect(receiptOf(served)).toMatchObject({ success: true, payer: holder.address })
    expect(await holder.balanceOf(plan.pay_to)).toBe(before + amount)
    expect(await world.ledger.balance(holder.address)).toBe(BigInt(plan.credits - 1))

    const price = { asset, amount, ...(domain && { domain }) }
    const shop = await openPermit2Merchant(world.facilitator, await thirdParty.newKey(), price)
    const sold = await payIn(asset, holder)(shop.url)
    await shop.close()
    expect([sold.status, await sold.text()]).toEqual([200, shop.content])
    expect(receiptOf(sold)).toMatchObject({ success: true, payer: holder.address })
    expect(await holder.balanceOf(shop.payTo)).toBe(amount)
    expect(await holder.balanceOf(holder.address)).toBe(budget - 2n * amount)
    holder.close()
    // The gateway asks the facilitator again after some seconds.
    const { kinds } = await until(
      async () => (await get('/x402/supported')) as SupportedByGateway,
      (supported) => supported.kinds.some((one) => one.asset === asset),
    )
    const wayOf = (token: string) => kinds.find((one) => one.asset === token)?.assetTransferMethod
    expect([wayOf(asset), wayOf(world.plan.asset_address)]).toEqual(['permit2', undefined])
  })

  test('a wallet that has approved nothing cannot pay in a token without permits, and is refused with the reason', async () => {
    const { asset } = await register('Plain', 23)
    const holder = await newHolder(asset, false)
    const shop = await openPermit2Merchant(world.facilitator, await thirdParty.newKey(), { asset, amount })
    const answer = await payIn(asset, holder)(shop.url)
    await shop.close()
    expect([answer.status, requiredIn(answer).error]).toEqual([402, 'invalid_transaction_state'])
    expect(await holder.balanceOf(holder.address)).toBe(budget)
    holder.close()
  })
})
