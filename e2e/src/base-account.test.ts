import { fundWallet } from '@tollgate/devnet'
import { registerExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { JsonRpcProvider, Wallet } from 'ethers'
import { createPublicClient, http, isErc6492Signature, serializeErc6492Signature, type Hex } from 'viem'
import { toCoinbaseSmartAccount } from 'viem/account-abstraction'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { expectPaidOnce, expectUsed } from './testing/expect-payment'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { plainBlockNumber, plainUrl, postOf } from './testing/plain-calls'
import { paymentIn, receiptOf, recording } from './testing/public-payers'
import { blockNumberCall, signIn, walletAt } from './testing/world'

let world: ObservedWorld
beforeAll(async () => void (world = await startObservedWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

/** A Coinbase wallet by viem. `wraps`: each signature, deployed or not, as Base Account does. */
async function openContractWallet({ wraps }: { wraps: boolean }) {
  const { rpcUrl } = world.infrastructure
  const client = createPublicClient({ chain: baseSepolia, transport: http(rpcUrl) })
  const owner = privateKeyToAccount(Wallet.createRandom().privateKey as Hex)
  const account = await toCoinbaseSmartAccount({ client, owners: [owner], version: '1.1' })
  const { factory, factoryData } = await account.getFactoryArgs()
  if (!factory || !factoryData) throw new Error('The wallet is there already')
  const wrap = (signature: Hex) =>
    !wraps || isErc6492Signature(signature)
      ? signature
      : serializeErc6492Signature({ address: factory, data: factoryData, signature })
  const { address } = account
  await fundWallet(rpcUrl, address, { usdc: BUDGET })

  const signed: Hex[] = []
  const signTypedData = async (typed: object) => {
    const signature = wrap(await account.signTypedData(typed as Parameters<typeof account.signTypedData>[0]))
    signed.push(signature)
    return signature
  }
  const x402 = new x402Client()
  registerExactEvmScheme(x402, { signer: { address, signTypedData } })
  return {
    address,
    signMessage: async (message: string) => wrap(await account.signMessage({ message })),
    /** Of the payments. */
    signed,
    /** By an unmodified client. */
    pay: (fetchFor: typeof fetch) => wrapFetchWithPayment(fetchFor, x402) as typeof fetch,
    deploy: () => send({ to: factory, data: factoryData }),
  }
}

async function send(transaction: { to: Hex; data: Hex }) {
  const provider = new JsonRpcProvider(world.infrastructure.rpcUrl, undefined, { staticNetwork: true })
  const sent = await new Wallet(walletAt(0).privateKey, provider).sendTransaction(transaction)
  await sent.wait()
  provider.destroy()
}

test('a Base Account signs in and pays by an unmodified client once it is deployed, with wrapped signatures', async () => {
  const wallet = await openContractWallet({ wraps: true })
  await expect(signIn(world, wallet)).rejects.toThrow('answered 401')
  await wallet.deploy()

  const authorization = `Bearer ${await signIn(world, wallet)}`
  const answer = await wallet.pay(fetch)(
    `${world.gateway.url}/rpc`,
    postOf(blockNumberCall, { authorization }),
  )
  expect(answer.status).toBe(200)
  const { success, payer, transaction } = receiptOf(answer)
  expect([success, payer]).toEqual([true, wallet.address])
  await expectPaidOnce(world, wallet.address, { transaction })
})

describe.each([
  { name: 'wrapped by ERC-6492', wraps: true },
  { name: 'plain', wraps: false },
])('a contract wallet whose signatures are $name', ({ wraps }) => {
  test('pays for a call without a sign-in once it is deployed; its payment serves no second call', async () => {
    const { address, signed, pay, deploy } = await openContractWallet({ wraps })
    const url = plainUrl(world, world.plan.chain_id)
    const refused = await pay(fetch)(url, postOf(plainBlockNumber))
    expect([refused.status, await world.ledger.payments(address)]).toEqual([402, []])
    await deploy()

    const sent: Headers[] = []
    const answer = await pay(recording(sent))(url, postOf(plainBlockNumber))
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { result: expect.stringMatching(/^0x/) as string },
    ])
    expect(signed.map((signature) => isErc6492Signature(signature))).toEqual([true, wraps])
    const { success, payer, transaction } = receiptOf(answer)
    expect([success, payer]).toEqual([true, address])

    await expectUsed(world, { url, json: plainBlockNumber, payment: paymentIn(sent) })
    await expectPaidOnce(world, address, { transaction })
  })
})
