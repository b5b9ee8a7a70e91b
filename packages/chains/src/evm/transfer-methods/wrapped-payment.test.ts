import {
  COINBASE_WALLET_FACTORY_ADDRESS,
  type CoinbaseWallet,
  createCoinbaseWallet,
  wrapSignature,
} from '@tollgate/devnet'
import { hexlify, MaxUint256, randomBytes, Transaction, Wallet } from 'ethers'
import type { PaymentStatus, Refusal } from '../../family'
import { startAlteringProxy } from '../../json-rpc/testing/node'
import { payment, signPayload, usdc } from '../testing/authorization'
import { openTestChain, type TestChain } from '../testing/chain'
import { credulousWallet, refusingWallet } from '../testing/contracts'
import { permitted, signTransfer } from '../testing/permit2'
import type { EvmPayment } from './payment'
import { PERMIT2 } from './permit2/contracts'

let world: TestChain
beforeAll(async () => (world = await openTestChain()))
afterAll(() => world.close())

const rpcUrl = process.env.TEST_EVM_RPC_URL!
const UNDEPLOYED = 'invalid_exact_evm_payload_undeployed_smart_wallet'
const SIGNATURE = 'invalid_exact_evm_payload_signature'

type Payer = Pick<Wallet, 'address' | 'signTypedData'>
const methods = {
  'EIP-3009': async (payer: Payer) => payment(await signPayload(payer, world.terms)),
  Permit2: async (payer: Payer) => permitted(await signTransfer(payer, world.terms)),
} as const
type Method = keyof typeof methods
const each = test.each(Object.keys(methods) as Method[])

/** A wallet with USDC, not deployed. */
async function newWallet(): Promise<CoinbaseWallet> {
  const wallet = await createCoinbaseWallet(rpcUrl, new Wallet(hexlify(randomBytes(32))))
  await world.mint(wallet.address, 1_000_000n)
  return wallet
}

async function newDeployedWallet(): Promise<CoinbaseWallet> {
  const wallet = await newWallet()
  await wallet.deploy()
  await wallet.execute(usdc.asset, world.tokenCall('approve', [PERMIT2, MaxUint256]))
  return wallet
}

const verify = (paid: EvmPayment, on = world.chain): Promise<Refusal | undefined> =>
  on.payments.verify({ payment: paid, terms: world.terms, now: new Date() })
const reasonOf = async (paid: EvmPayment) => (await verify(paid))?.reason
const codeOf = (address: string) => world.provider.getCode(address)

/** The same payment with another signature, as its payload would carry it. */
const signedAs = async (method: Method, payer: Payer, signature: (right: string) => string) =>
  methods[method]({
    address: payer.address,
    signTypedData: async (...typed) => signature(await payer.signTypedData(...typed)),
  })

describe('a wrapped signature of a wallet that is deployed', () => {
  each('settles by %s, with the signature that was in the wrapper', async (method) => {
    const wallet = await newDeployedWallet()
    let bare = ''
    const paid = await methods[method]({
      ...wallet,
      async signTypedData(...typed) {
        bare = await wallet.bare.signTypedData(...typed)
        return wallet.signTypedData(...typed)
      },
    })
    expect(await verify(paid)).toBeUndefined()
    const signed = await world.sign(paid)
    const { data, to } = Transaction.from(signed.raw)
    expect(data).toContain(bare.slice(2))
    expect(data).not.toContain('64926492')
    expect(data).not.toContain(wallet.factoryData.slice(2))
    expect(to).not.toBe(COINBASE_WALLET_FACTORY_ADDRESS)
    const mined = await world.carryOut(signed)
    expect(mined.settles(paid, world.terms)).toBe(true)
    const status: PaymentStatus = await world.chain.payments.paymentStatus({
      payment: paid,
      terms: world.terms,
    })
    expect(status).toMatchObject({ status: 'settled', hash: mined.hash })
  })

  each('is read like the bare one, whatever the wrapper names: %s', async (method) => {
    const wallet = await newDeployedWallet()
    const wrap = (signature: string) => wrapSignature(Wallet.createRandom().address, '0x1234', signature)
    const paid = await signedAs(method, wallet.bare, wrap)
    expect(await verify(paid)).toBeUndefined()
    expect(await world.settle(paid)).toMatchObject({ isSettled: true })
  })

  each('is refused if another owner signed, by %s', async (method) => {
    const [wallet, other] = [await newDeployedWallet(), await newDeployedWallet()]
    expect(await reasonOf(await methods[method]({ ...other, address: wallet.address }))).toBe(SIGNATURE)
  })

  each(
    'is refused in two wrappers, and in a malformed one, without a request to a node: %s',
    async (method) => {
      const wallet = await newDeployedWallet()
      const offline = world.connect({ rpcUrls: ['http://127.0.0.1:9'] })
      for (const spoil of [
        (wrapped: string) => wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, wallet.factoryData, wrapped),
        (wrapped: string) => `${wrapped.slice(0, -64)}00${wrapped.slice(-64)}`,
        (wrapped: string) => `0x1${wrapped.slice(3)}`,
      ])
        expect(await verify(await signedAs(method, wallet, spoil), offline)).toMatchObject({
          reason: SIGNATURE,
        })
    },
  )
})

describe('a wrapped signature of an account without code is refused, and no factory is called:', () => {
  each('a wallet that is not deployed, by %s', async (method) => {
    const wallet = await newWallet()
    expect(await reasonOf(await methods[method](wallet))).toBe(UNDEPLOYED)
    expect(await codeOf(wallet.address)).toBe('0x')
  })

  each('an account with a key that wraps its own signature, by %s', async (method) => {
    const payer = await world.newWallet()
    await world.mint(payer.address, 1_000_000n)
    await world.send(payer, usdc.asset, world.tokenCall('approve', [PERMIT2, MaxUint256]))
    const wrap = (signature: string) => wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', signature)
    expect(await reasonOf(await signedAs(method, payer, wrap))).toBe(UNDEPLOYED)
    expect(await verify(await methods[method](payer))).toBeUndefined()
  })

  each('a wallet that was destroyed after it was verified, by %s', async (method) => {
    const wallet = await newDeployedWallet()
    const paid = await methods[method](wallet)
    expect(await verify(paid)).toBeUndefined()
    await world.provider.send('anvil_setCode', [wallet.address, '0x'])
    expect(await reasonOf(paid)).toBe(UNDEPLOYED)
    const prepared = await world.chain.signer.prepare([world.pending(paid)], await world.from())
    expect(prepared).toMatchObject({ reason: 'invalid_transaction_state' })
  })

  each('and accepted once the wallet is deployed, by %s', async (method) => {
    const wallet = await newDeployedWallet()
    const code = await codeOf(wallet.address)
    await world.provider.send('anvil_setCode', [wallet.address, '0x'])
    const paid = await methods[method](wallet)
    expect(await reasonOf(paid)).toBe(UNDEPLOYED)
    await world.provider.send('anvil_setCode', [wallet.address, code])
    expect(await verify(paid)).toBeUndefined()
  })

  test('a node that has not seen the deployment does not decide', async () => {
    const wallet = await newDeployedWallet()
    const lagging = await startAlteringProxy(rpcUrl, ({ method }, reply) => {
      if (method === 'eth_blockNumber') return { result: '0x1' }
      return method === 'eth_getCode' ? { result: '0x' } : reply
    })
    const chain = world.connect({ rpcUrls: [lagging.url, rpcUrl] })
    expect(await verify(await methods['EIP-3009'](wallet), chain)).toBeUndefined()
    await lagging.close()
  })
})

test('an account with a key that delegates to a contract (EIP-7702) may wrap, and need not', async () => {
  const payer = await world.newWallet()
  await world.mint(payer.address, 1_000_000n)
  await world.provider.send('anvil_setCode', [payer.address, credulousWallet])
  const payload = await signPayload(payer, world.terms)
  const signature = wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', payload.signature)
  const [plain, wrapped] = [payment(payload), payment({ ...payload, signature })]
  expect([await verify(plain), await verify(wrapped)]).toEqual([undefined, undefined])
  expect(await world.settle(wrapped)).toMatchObject({ isSettled: true })
  for (const again of [plain, wrapped]) expect(await verify(again)).toMatchObject({ isSpent: true })

  await world.provider.send('anvil_setCode', [payer.address, refusingWallet])
  expect(await reasonOf(wrapped)).toBe(SIGNATURE)
})
