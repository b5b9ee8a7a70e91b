import {
  COINBASE_WALLET_FACTORY_ADDRESS,
  type CoinbaseWallet,
  createCoinbaseWallet,
  PERMIT2_ADDRESS,
  USDC_ADDRESS,
  usdcAbi,
  wrapSignature,
} from '@tollgate/devnet'
import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { hexlify, Interface, MaxUint256, randomBytes, Wallet } from 'ethers'
import { callRpc, sharedChain, transactionCount, transfersFrom } from '../testing/chain'
import { facilitatorWithClient, type FacilitatorWithClient } from '../testing/facilitator-with-client'
import { withSignature } from '../testing/hostile'
import { withManualMining } from '../testing/manual-mining'
import { AMOUNT, paymentRequest, transferTypes, usdcDomain, type PaymentRequest } from '../testing/payment'
import { byPermit2 } from '../testing/permit2'

const usdc = new Interface(usdcAbi)
const UNDEPLOYED = 'invalid_exact_evm_payload_undeployed_smart_wallet'
const SIGNATURE = 'invalid_exact_evm_payload_signature'

let harness: FacilitatorWithClient
beforeAll(async () => (harness = await facilitatorWithClient()))
afterAll(closeAll)

/** A wallet that wraps what it signs, with USDC. */
async function newWallet({ rpcUrl = sharedChain(), isDeployed = true } = {}) {
  const wallet = await createCoinbaseWallet(rpcUrl, new Wallet(hexlify(randomBytes(32))))
  await callRpc(rpcUrl, 'anvil_dealERC20', wallet.address, USDC_ADDRESS, `0x${(20n * AMOUNT).toString(16)}`)
  if (isDeployed) await wallet.deploy()
  return wallet
}
const codeOf = (address: string) => callRpc(sharedChain(), 'eth_getCode', address, 'latest')
const setCode = (address: string, code: unknown) => callRpc(sharedChain(), 'anvil_setCode', address, code)

/** A factory that writes to slot 0 when it is called. */
async function newWatchedFactory() {
  const { address } = Wallet.createRandom()
  await setCode(address, '0x60015f5500')
  const slot = () => callRpc(sharedChain(), 'eth_getStorageAt', address, '0x0', 'latest')
  return { address, wasCalled: async () => BigInt((await slot()) as string) !== 0n }
}

/** The bare signature of a wallet's payment, the wrapped one, and wrappers that name other factories. */
async function spellings(wallet: CoinbaseWallet, body: PaymentRequest): Promise<PaymentRequest[]> {
  const [factory, data, bare] = await unwrapped(wallet, body)
  const watched = await newWatchedFactory()
  const forms = [
    bare,
    bare.toUpperCase().replace('X', 'x'),
    wrapSignature(factory, `${data}00`, bare),
    wrapSignature(watched.address, '0x12345678', bare),
    wrapSignature(`0x${'0'.repeat(40)}`, '0x', bare),
  ]
  return [body, ...forms.map((form) => withSignature(body, form))]
}

async function unwrapped(wallet: CoinbaseWallet, body: PaymentRequest): Promise<[string, string, string]> {
  const { authorization } = body.paymentPayload.payload
  const bare = await wallet.bare.signTypedData(usdcDomain, transferTypes, authorization)
  return [COINBASE_WALLET_FACTORY_ADDRESS, wallet.factoryData, bare]
}

describe('a payment of a contract wallet that wraps its signature (ERC-6492)', () => {
  test('is verified and settled', async () => {
    const wallet = await newWallet()
    const body = await paymentRequest(wallet)
    expect(await harness.verify(body)).toMatchObject({ isValid: true, payer: wallet.address })
    expect(await harness.settle(body)).toMatchObject({ success: true, payer: wallet.address })
    expect(await transfersFrom(sharedChain(), wallet.address)).toHaveLength(1)
  })

  test('is verified and settled by Permit2', async () => {
    const wallet = await newWallet()
    await wallet.execute(USDC_ADDRESS, usdc.encodeFunctionData('approve', [PERMIT2_ADDRESS, MaxUint256]))
    const { paymentPayload, ...request } = await byPermit2(wallet, await paymentRequest(wallet))
    // The token’s permit needs a key.
    const { extensions: _, ...rest } = paymentPayload
    const body = { ...request, paymentPayload: rest }
    const post = async (path: string) =>
      (await harness.api.post(`/api/v2/${path}`).set(harness.client).send(body).expect(200)).body as unknown
    expect((await post('verify')) as VerifyResult).toMatchObject({ isValid: true, payer: wallet.address })
    expect((await post('settle')) as SettleResult).toMatchObject({ success: true, payer: wallet.address })
    expect(await transfersFrom(sharedChain(), wallet.address)).toHaveLength(1)
  })

  test('is one payment in all its spellings: one transfer, one success', async () => {
    const wallet = await newWallet()
    const body = await paymentRequest(wallet)
    const forms = await spellings(wallet, body)
    const sent = await harness.sent()
    const results = await Promise.all(forms.map((form) => harness.settle(form)))
    expect(results.filter(({ success }) => success)).toHaveLength(1)
    for (const form of forms)
      expect(await harness.settle(form)).toMatchObject({ success: false, transaction: '' })
    expect(await transfersFrom(sharedChain(), wallet.address)).toHaveLength(1)
    expect(await harness.sent()).toBe(sent + 1)
  })

  test('is accepted in each spelling alone, and its factory is never called', async () => {
    const watched = await newWatchedFactory()
    const wallet = await newWallet()
    const body = await paymentRequest(wallet)
    const [, data, bare] = await unwrapped(wallet, body)
    const other = withSignature(body, wrapSignature(watched.address, data, bare))
    expect(await harness.verify(other)).toMatchObject({ isValid: true })
    expect(await harness.settle(other)).toMatchObject({ success: true })
    expect(await harness.settle(body)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    expect(await watched.wasCalled()).toBe(false)
  })

  test.each<[string, (wrapped: string) => string]>([
    ['in another wrapper', (wrapped) => wrapSignature(COINBASE_WALLET_FACTORY_ADDRESS, '0x', wrapped)],
    ['followed by a byte', (wrapped) => `${wrapped.slice(0, -64)}00${wrapped.slice(-64)}`],
    ['with an offset of its own', (wrapped) => wrapped.replace(/^(0x.{64}.{62})60/, '$140')],
    ['cut off', (wrapped) => `${wrapped.slice(0, -130)}${wrapped.slice(-64)}`],
  ])('is refused if its wrapper is %s', async (_, spoil) => {
    const body = await paymentRequest(await newWallet())
    const spoiled = spoil(body.paymentPayload.payload.signature)
    expect(spoiled).not.toBe(body.paymentPayload.payload.signature)
    await harness.expectRefused(withSignature(body, spoiled), SIGNATURE)
  })

  test('is refused if the owner of another wallet signed', async () => {
    const [{ address }, { signTypedData }] = [await newWallet(), await newWallet()]
    await harness.expectRefused(await paymentRequest({ address, signTypedData }), SIGNATURE)
  })
})

describe('a wallet that is not deployed', () => {
  test('is refused, and its factory is never called, whatever the wrapper names', async () => {
    const watched = await newWatchedFactory()
    const wallet = await newWallet({ isDeployed: false })
    const body = await paymentRequest(wallet)
    const [factory, data, bare] = await unwrapped(wallet, body)
    for (const named of [factory, watched.address])
      await harness.expectRefused(withSignature(body, wrapSignature(named, data, bare)), UNDEPLOYED)
    expect([await codeOf(wallet.address), await watched.wasCalled()]).toEqual(['0x', false])
  })

  test('pays once it is deployed, though it was refused before', async () => {
    const wallet = await newWallet({ isDeployed: false })
    const body = await paymentRequest(wallet)
    await harness.expectRefused(body, UNDEPLOYED)
    await wallet.deploy()
    expect(await harness.settle(body)).toMatchObject({ success: true, payer: wallet.address })
  })

  test('is refused by settle if it was destroyed since it was verified', async () => {
    const wallet = await newWallet()
    const body = await paymentRequest(wallet)
    const code = await codeOf(wallet.address)
    expect(await harness.verify(body)).toMatchObject({ isValid: true })
    await setCode(wallet.address, '0x')
    const sent = await harness.sent()
    expect(await harness.settle(body)).toMatchObject({ success: false, errorReason: UNDEPLOYED })
    expect(await harness.sent()).toBe(sent)
    await setCode(wallet.address, code)
    expect(await harness.settle(body)).toMatchObject({ success: true })
  })

  test('is no success if it is destroyed while its transaction waits', async () => {
    const { rpcUrl, signer, settle, mine, until, onTheirWay } = await withManualMining()
    const wallet = await newWallet({ rpcUrl, isDeployed: false })
    const honest = `0x7f1626ba7e${'0'.repeat(56)}5f5260205ff3`
    await callRpc(rpcUrl, 'anvil_setCode', wallet.address, honest)
    const answer = settle(await paymentRequest(wallet))
    await onTheirWay(1)
    await callRpc(rpcUrl, 'anvil_setCode', wallet.address, '0x')
    await mine()
    await until("transactions WHERE status = 'mined'", 1)
    await callRpc(rpcUrl, 'evm_increaseTime', 120)
    await mine()
    expect(await answer).toMatchObject({ success: false, errorReason: 'payment_expired', transaction: '' })
    expect(await transfersFrom(rpcUrl, wallet.address)).toEqual([])
    expect(await transactionCount(rpcUrl, signer.address)).toBe(1)
  })
})

describe('a facilitator that may deploy the wallets of a factory', () => {
  let deploying: FacilitatorWithClient
  beforeAll(async () => {
    const walletFactories = [COINBASE_WALLET_FACTORY_ADDRESS]
    deploying = await facilitatorWithClient({ walletFactories, maxGas: 1_500_000n })
  })

  test('settles the first payment of a wallet in one transaction, and in all its spellings once', async () => {
    const wallet = await newWallet({ isDeployed: false })
    const body = await paymentRequest(wallet)
    expect(await deploying.verify(body)).toMatchObject({ isValid: true, payer: wallet.address })
    expect(await codeOf(wallet.address)).toBe('0x')
    const sent = await deploying.sent()
    const results = await Promise.all([body, body, body].map((form) => deploying.settle(form)))
    expect(results.filter(({ success }) => success)).toHaveLength(1)
    for (const form of await spellings(wallet, body))
      expect(await deploying.settle(form)).toMatchObject({ success: false })
    expect(await deploying.sent()).toBe(sent + 1)
    expect(await transfersFrom(sharedChain(), wallet.address)).toHaveLength(1)
    expect(await codeOf(wallet.address)).not.toBe('0x')
  })

  test('settles several payments of a new wallet, each in a transaction of its own', async () => {
    const wallet = await newWallet({ isDeployed: false })
    const bodies = await Promise.all([1, 2, 3].map(() => paymentRequest(wallet)))
    const sent = await deploying.sent()
    for (const result of await Promise.all(bodies.map((body) => deploying.settleAtLast(body))))
      expect(result).toMatchObject({ success: true, payer: wallet.address })
    expect(await deploying.sent()).toBe(sent + 3)
  })

  test('refuses the wallet of another factory, or whose own factory call deploys another wallet', async () => {
    const watched = await newWatchedFactory()
    const [wallet, other] = await Promise.all([1, 2].map(() => newWallet({ isDeployed: false })))
    const body = await paymentRequest(wallet!)
    const [factory, data, bare] = await unwrapped(wallet!, body)
    for (const named of [
      wrapSignature(watched.address, data, bare),
      wrapSignature(factory, other!.factoryData, bare),
      wrapSignature(factory, '0x', bare),
    ])
      await deploying.expectRefused(withSignature(body, named), UNDEPLOYED)
    expect([await codeOf(other!.address), await watched.wasCalled()]).toEqual(['0x', false])
    await deploying.expectRefused(withSignature(body, bare), SIGNATURE)
  })
})
