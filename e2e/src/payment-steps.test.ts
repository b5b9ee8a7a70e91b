import { Secp256k1Wallet } from '@cosmjs/amino'
import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { PaymentPage, PaymentStatusAnswer } from '@tollgate/protocol'
import { createTollgate, memoryStorage, type Tollgate } from '@tollgate/wallet'
import { Wallet } from 'ethers'
import { randomBytes } from 'node:crypto'
import { startWorld, walletAt, type World } from './testing/world'

let world: World
beforeAll(async () => {
  world = await startWorld()
}, 120_000)
afterAll(async () => {
  await world.stop()
}, 30_000)

async function buyer(ecosystem: 'evm' | 'cosmos') {
  const { plan, cosmosPlan, gateway, infrastructure } = world
  const bought = ecosystem === 'evm' ? plan : cosmosPlan
  const network = ecosystem === 'evm' ? `eip155:${plan.chain_id}` : `cosmos:${cosmosPlan.chain_id}`
  const cosmos = await Secp256k1Wallet.fromKey(randomBytes(32), 'cosmos')
  const tollgate = createTollgate({
    url: gateway.url,
    wallet: ecosystem === 'evm' ? new Wallet(walletAt(3).privateKey) : cosmos,
    limits: { assets: [{ network, asset: bought.asset_address, perPayment: BigInt(bought.amount) }] },
    storage: memoryStorage(),
    serviceName: 'Tollgate',
  })
  if (ecosystem === 'cosmos')
    await fundCosmosWallet(infrastructure.cosmos.rpcUrl, await tollgate.address(), `${bought.amount}uatom`)
  return tollgate
}

async function paymentOf(tollgate: Tollgate) {
  const url = `${world.gateway.url}/payments/${await tollgate.address()}`
  const [payment] = PaymentPage.parse(await (await fetch(url)).json()).data
  return PaymentStatusAnswer.parse(await (await fetch(`${url}/${payment?.id}`)).json())
}

test.each(['evm', 'cosmos'] as const)(
  'a payment on an %s chain is shown with the confirmations that the facilitator knows',
  async (ecosystem) => {
    const tollgate = await buyer(ecosystem)
    const { transaction } = await tollgate.buy()
    expect(await paymentOf(tollgate)).toMatchObject({
      step: 'credited',
      transaction,
      confirmations: expect.any(Number) as number,
      required_confirmations: expect.any(Number) as number,
      next: null,
    })
    tollgate.close()
  },
)
