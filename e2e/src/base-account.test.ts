import { fundWallet } from '@tollgate/devnet'
import { type SessionTokens, type SettleResult } from '@tollgate/protocol'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { JsonRpcProvider, Wallet } from 'ethers'
import { createPublicClient, http, isErc6492Signature, serializeErc6492Signature, type Hex } from 'viem'
import { toCoinbaseSmartAccount } from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { tokenAt } from './testing/chain'
import { blockNumberCall, startWorld, walletAt, type World } from './testing/world'

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

/** A Coinbase wallet by viem that wraps each signature, deployed or not, as Base Account does. */
async function openBaseAccount() {
  const { rpcUrl } = world.infrastructure
  const client = createPublicClient({ chain: baseSepolia, transport: http(rpcUrl) })
  const owner = privateKeyToAccount(Wallet.createRandom().privateKey as Hex)
  const account = await toCoinbaseSmartAccount({ client, owners: [owner], version: '1.1' })
  const { factory, factoryData } = await account.getFactoryArgs()
  if (!factory || !factoryData) throw new Error('The wallet is there already')
  const wrap = (signature: Hex) =>
    isErc6492Signature(signature)
      ? signature
      : serializeErc6492Signature({ address: factory, data: factoryData, signature })
  const { address } = account
  await fundWallet(rpcUrl, address, { usdc: 1_000_000n })

  async function logIn() {
    const { gateway, serviceName, plan } = world
    const asked = await fetch(`${gateway.url}/auth/nonce?address=${address}`)
    const { nonce } = (await asked.json()) as { nonce: string }
    const message = `${serviceName} wants you to sign in.\n\nAddress: ${address}\nNonce: ${nonce}\nIssued At: ${new Date().toISOString()}`
    const signature = wrap(await account.signMessage({ message }))
    const bound = {
      x402_chain_id: plan.chain_id,
      x402_ecosystem: plan.ecosystem,
      pricing_plan_id: plan.id,
    }
    return fetch(`${gateway.url}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message, signature, address, auth_method: 'siwe', ...bound }),
    })
  }

  const signTypedData = async (typed: object) =>
    wrap(await account.signTypedData(typed as Parameters<typeof account.signTypedData>[0]))
  return { address, logIn, signTypedData, deployment: { to: factory, data: factoryData } }
}

async function deploy(transaction: { to: Hex; data: Hex }) {
  const provider = new JsonRpcProvider(world.infrastructure.rpcUrl, undefined, { staticNetwork: true })
  const sent = await new Wallet(walletAt(0).privateKey, provider).sendTransaction(transaction)
  await sent.wait()
  provider.destroy()
}

test('a Base Account signs in and pays by an unmodified client once it is deployed, with wrapped signatures', async () => {
  const { address, logIn, signTypedData, deployment } = await openBaseAccount()
  expect((await logIn()).status).toBe(401)
  await deploy(deployment)

  const session = await logIn()
  expect(session.status).toBe(200)
  const client = new x402Client()
  registerExactEvmScheme(client, { signer: { address, signTypedData } })
  const answer = await wrapFetchWithPayment(fetch, client)(`${world.gateway.url}/rpc`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${((await session.json()) as SessionTokens).token}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(blockNumberCall),
  })
  expect(answer.status).toBe(200)
  const header = Buffer.from(answer.headers.get('x-payment-response') ?? '', 'base64').toString()
  const receipt = JSON.parse(header) as SettleResult
  expect(receipt).toMatchObject({ success: true, payer: address })
  const { pay_to: to, amount } = world.plan
  expect(await token.transfersOf(receipt.transaction, address)).toEqual([
    { from: address, to, value: BigInt(amount) },
  ])
})
