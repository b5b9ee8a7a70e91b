import { fundWallet } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { tokenAt } from './testing/chain'
import { newThirdParty } from './testing/client-keys'
import { payByPermit2, type Paid } from './testing/public-payers'
import { openPermit2Shop, PRICE, type Shop } from './testing/shops'
import { startWorld, type World } from './testing/world'

const BUDGET = 1_000_000n

let world: World
let token: ReturnType<typeof tokenAt>
let shop: Shop

beforeAll(async () => {
  world = await startWorld()
  token = tokenAt(world.foundation.rpcUrl)
  const thirdParty = await newThirdParty(world.facilitator)
  shop = await openPermit2Shop(world.facilitator, await thirdParty.newKey())
}, 120_000)

afterAll(async () => {
  await shop.close()
  token.close()
  await world.stop()
}, 30_000)

/** A wallet with nothing but USDC: no ether, and nobody may move anything for it. */
async function newPayer() {
  const wallet = Wallet.createRandom()
  await fundWallet(world.foundation.rpcUrl, wallet.address, { usdc: BUDGET })
  return wallet
}

async function expectPaid(payer: string, { status, body, receipt }: Paid) {
  expect([status, body]).toEqual([200, shop.content])
  expect(receipt).toMatchObject({ success: true, payer })
  expect(await token.transfersOf(receipt.transaction ?? '', payer)).toEqual([
    { from: payer, to: shop.payTo, value: PRICE },
  ])
}

test('a wallet without ether pays a public server by Permit2, with the token’s own permit, again and again', async () => {
  const { address, privateKey } = await newPayer()
  for (let paid = 1n; paid <= 2n; paid++) {
    await expectPaid(address, await payByPermit2(shop.url, privateKey, world.foundation.rpcUrl))
    expect(await token.balanceOf(address)).toBe(BUDGET - paid * PRICE)
  }
  expect(await token.balanceOf(shop.payTo)).toBe(2n * PRICE)
})

test('wallets pay at once, each exactly once', async () => {
  const payers = [await newPayer(), await newPayer(), await newPayer()]
  const before = await token.balanceOf(shop.payTo)
  const answers = await Promise.all(
    payers.map(({ privateKey }) => payByPermit2(shop.url, privateKey, world.foundation.rpcUrl)),
  )
  for (const [i, { address }] of payers.entries()) {
    await expectPaid(address, answers[i]!)
    expect(await token.balanceOf(address)).toBe(BUDGET - PRICE)
  }
  expect(await token.balanceOf(shop.payTo)).toBe(before + 3n * PRICE)
})

test('a wallet without the means to pay is served nothing, and nothing moves', async () => {
  const { privateKey } = Wallet.createRandom()
  const before = await token.balanceOf(shop.payTo)
  const { status, body } = await payByPermit2(shop.url, privateKey, world.foundation.rpcUrl)
  expect(status).toBe(402)
  expect(body).not.toContain(shop.content)
  expect(await token.balanceOf(shop.payTo)).toBe(before)
})
