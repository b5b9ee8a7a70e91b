import { COINBASE_WALLET_FACTORY_ADDRESS, type CoinbaseWallet, createCoinbaseWallet } from '@tollgate/devnet'
import { hexlify, MaxUint256, randomBytes, Transaction, Wallet } from 'ethers'
import type { Refusal, Terms } from '../../family'
import { startAlteringProxy } from '../../json-rpc/testing/node'
import { payment, signPayload, usdc } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { endlessWallet, talkativeWallet } from '../testing/contracts'
import { permitted, signTransfer } from '../testing/permit2'
import { calls } from '../transfer-methods/eip3009/authorization'
import type { EvmPayment } from '../transfer-methods/payment'
import { PERMIT2 } from '../transfer-methods/permit2/contracts'
import { aggregate3, MULTICALL3 } from './multicall'

const rpcUrl = process.env.TEST_EVM_RPC_URL!
const UNDEPLOYED = 'invalid_exact_evm_payload_undeployed_smart_wallet'
const REVERTING = '0x5f5ffd'
/** A deployment and a transfer. */
const maxGas = 1_500_000n

let world: TestChain
beforeAll(async () => (world = await openTestChain()))
afterAll(() => world.close())

const allowing = (...walletFactories: string[]) => world.connect({ walletFactories, maxGas })
const codeOf = (address: string) => world.provider.getCode(address)

async function newWallet(factory?: string): Promise<CoinbaseWallet> {
  const wallet = await createCoinbaseWallet(rpcUrl, new Wallet(hexlify(randomBytes(32))), factory)
  await world.mint(wallet.address, 1_000_000n)
  return wallet
}

/** A factory of this test's own, with the code of the usual one. */
const newFactory = async () => world.place(await codeOf(COINBASE_WALLET_FACTORY_ADDRESS))

type Payer = Pick<Wallet, 'address' | 'signTypedData'>
const pay = async (payer: Payer, terms: Terms = world.terms) => payment(await signPayload(payer, terms))
const verify = (
  paid: EvmPayment,
  on = allowing(COINBASE_WALLET_FACTORY_ADDRESS),
): Promise<Refusal | undefined> => on.payments.verify({ payment: paid, terms: world.terms, now: new Date() })
const reasonOf = async (...of: Parameters<typeof verify>) => (await verify(...of))?.reason

describe('the wallet of an allowed factory', () => {
  test('is deployed in the transaction that settles its payment', async () => {
    const on = allowing(COINBASE_WALLET_FACTORY_ADDRESS.toLowerCase())
    const wallet = await newWallet()
    const paid = await pay(wallet)
    expect(await verify(paid, on)).toBeUndefined()
    expect(await codeOf(wallet.address)).toBe('0x')

    const signed = await world.sign(paid, world.terms, on)
    const { to, gasLimit } = Transaction.from(signed.raw)
    expect(to).toBe(MULTICALL3)
    expect(gasLimit).toBeLessThanOrEqual(maxGas)
    const mined = await world.carryOut(signed)
    expect([mined.succeeded, mined.settles(paid, world.terms)]).toEqual([true, true])
    expect(await codeOf(wallet.address)).not.toBe('0x')
    expect(await world.balance(wallet.address)).toBe(1_000_000n - world.terms.amount)
    expect(await on.payments.paymentStatus({ payment: paid, terms: world.terms })).toMatchObject({
      status: 'settled',
      hash: mined.hash,
    })
    expect(await verify(paid, on)).toMatchObject({ isSpent: true })
  })

  test('pays without the factory once it is deployed', async () => {
    const on = allowing(COINBASE_WALLET_FACTORY_ADDRESS)
    const wallet = await newWallet()
    await wallet.deploy()
    const paid = await pay(wallet)
    expect(await verify(paid, on)).toBeUndefined()
    const signed = await world.sign(paid, world.terms, on)
    expect(Transaction.from(signed.raw).to).toBe(usdc.asset)
    expect((await world.carryOut(signed)).settles(paid, world.terms)).toBe(true)
  })

  test.each([
    ['returns the wallet that is there', undefined],
    ['fails since then', REVERTING],
  ])('pays though another account deploys it first, and the factory %s', async (_, code) => {
    const factory = await newFactory()
    const on = allowing(factory)
    const wallet = await newWallet(factory)
    const paid = await pay(wallet)
    const signed = await world.sign(paid, world.terms, on)
    await wallet.deploy()
    if (code !== undefined) await world.provider.send('anvil_setCode', [factory, code])
    const mined = await world.carryOut(signed)
    expect([mined.succeeded, mined.settles(paid, world.terms)]).toEqual([true, true])
  })

  test('pays nothing if its transaction does not deploy it: the transfer reverts', async () => {
    const factory = await newFactory()
    const wallet = await newWallet(factory)
    const paid = await pay(wallet)
    const signed = await world.sign(paid, world.terms, allowing(factory))
    await world.provider.send('anvil_setCode', [factory, REVERTING])
    const mined = await world.carryOut(signed)
    expect([mined.succeeded, mined.settles(paid, world.terms)]).toEqual([false, false])
    expect(await world.balance(wallet.address)).toBe(1_000_000n)
  })

  test('pays alone, one payment at a time', async () => {
    const on = allowing(COINBASE_WALLET_FACTORY_ADDRESS)
    const wallet = await newWallet()
    const [first, second] = [world.pending(await pay(wallet)), world.pending(await pay(wallet))]
    const others = [world.pending(await pay(world.payer)), world.pending(await pay(world.payer))]
    expect(await on.payments.batches([first, ...others, second])).toEqual([[first], others])
    expect(await on.payments.batches([{ ...first, isBehind: true }])).toEqual([])
  })
})

describe('a deployment is refused, and nothing is signed, if', () => {
  const expectRefused = async (
    paid: EvmPayment,
    reason: string,
    on = allowing(COINBASE_WALLET_FACTORY_ADDRESS),
  ) => {
    expect(await reasonOf(paid, on)).toBe(reason)
    const prepared = await on.signer.prepare([world.pending(paid)], await world.from(on))
    expect(prepared).toMatchObject({ reason: 'invalid_transaction_state' })
    expect(await codeOf(paid.payer)).toBe('0x')
  }

  test('no factory is allowed, or only another one', async () => {
    const paid = await pay(await newWallet())
    for (const on of [world.chain, allowing(), allowing(await newFactory())])
      await expectRefused(paid, UNDEPLOYED, on)
  })

  test('the factory deploys another wallet', async () => {
    const [wallet, other] = [await newWallet(), await newWallet()]
    const { deployment } = await pay(other)
    await expectRefused({ ...(await pay(wallet)), deployment: deployment! }, UNDEPLOYED)
    expect(await codeOf(other.address)).toBe('0x')
  })

  test('the wallet does not accept the signature', async () => {
    const wallet = await newWallet()
    const paid = await pay(wallet)
    await expectRefused({ ...paid, nonce: hexlify(randomBytes(32)) }, 'invalid_exact_evm_payload_signature')
  })

  test('the wallet has too little', async () => {
    const wallet = await createCoinbaseWallet(rpcUrl, new Wallet(hexlify(randomBytes(32))))
    await expectRefused(await pay(wallet), 'insufficient_funds')
  })

  test.each([
    ['fails', REVERTING],
    ['never ends', endlessWallet],
    ['returns a megabyte', talkativeWallet],
    ['deploys nothing', '0x00'],
  ])('the factory %s', async (_, code) => {
    const factory = await newFactory()
    const wallet = await newWallet(factory)
    await world.provider.send('anvil_setCode', [factory, code])
    await expectRefused(await pay(wallet), UNDEPLOYED, allowing(factory))
  })

  test('the factory’s call uses the authorization itself', async () => {
    const wallet = await newWallet()
    const paid = await pay(wallet)
    const data = aggregate3(
      [
        { to: COINBASE_WALLET_FACTORY_ADDRESS, data: wallet.factoryData },
        { to: usdc.asset, data: calls.transfer(paid, false) },
      ],
      false,
    )
    await expectRefused(
      { ...paid, deployment: { factory: MULTICALL3, data } },
      'invalid_transaction_state',
      allowing(MULTICALL3),
    )
  })

  test('it needs more gas than a settlement may use', async () => {
    const on = world.connect({ walletFactories: [COINBASE_WALLET_FACTORY_ADDRESS], maxGas: 100_000n })
    await expectRefused(await pay(await newWallet()), UNDEPLOYED, on)
  })

  test('the account has a key, which signed: only a contract wraps', async () => {
    const payer = await world.newWallet()
    await world.mint(payer.address, 1_000_000n)
    const wallet = await newWallet()
    const { deployment } = await pay(wallet)
    const paid = { ...(await pay(payer)), deployment: deployment! }
    expect(await reasonOf(paid)).toBe(UNDEPLOYED)
  })

  test('the network has no Multicall3', async () => {
    const node = await startAlteringProxy(rpcUrl, ({ method, params }, reply) => {
      const [{ to } = { to: '' }] = params as [{ to: string } | undefined]
      return method === 'eth_call' && to === MULTICALL3 ? { result: '0x' } : reply
    })
    const on = world.connect({
      rpcUrls: [node.url],
      walletFactories: [COINBASE_WALLET_FACTORY_ADDRESS],
      maxGas,
    })
    expect(await reasonOf(await pay(await newWallet()), on)).toBe(UNDEPLOYED)
    await node.close()
  })

  test('the payment is by Permit2, which a wallet without code cannot have approved', async () => {
    const wallet = await newWallet()
    await wallet.execute(usdc.asset, world.tokenCall('approve', [PERMIT2, MaxUint256]))
    await expectRefused(permitted(await signTransfer(wallet, world.terms)), UNDEPLOYED)
  })
})
