import { Wallet } from 'ethers'
import { ChainUnavailable, type Terms } from '../family'
import { calls } from './eip3009'
import {
  type Authorization,
  payment,
  signPayload,
  signPayment,
  usdc,
  usdcDomain,
} from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import {
  credulousWallet,
  endlessWallet,
  lyingWallet,
  refusingWallet,
  silentToken,
  talkativeWallet,
} from './testing/contracts'
import { startLyingNode, startRestingNode } from './testing/node'
import { bitFlips, compact, highTwin } from './testing/signatures'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

const now = () => BigInt(Math.floor(Date.now() / 1000))
const inSeconds = (seconds: number) => (now() + BigInt(seconds)).toString()

/** The refusal of a payment that meets the terms but for these changes. */
async function refusal(
  changes: Partial<Authorization> = {},
  otherTerms: Partial<Terms> = {},
  domain = usdcDomain,
  on = world.chain,
) {
  const terms = { ...world.terms, ...otherTerms }
  return on.verify(await signPayment(world.payer, world.terms, changes, domain), terms, new Date())
}
async function refusalOfSignature(change: (signature: string) => string) {
  const payload = await signPayload(world.payer, world.terms)
  return world.chain.verify(
    payment({ ...payload, signature: change(payload.signature) }),
    world.terms,
    new Date(),
  )
}

describe('verify takes', () => {
  test('a payment that would settle', async () => {
    expect(await refusal()).toBeUndefined()
    expect(await refusal({}, { extra: { name: 'USDC', version: '2' } })).toBeUndefined()
    expect(await refusal({}, { extra: { somethingElse: 1 } })).toBeUndefined()
  })

  test('the recipient and the asset in any letter case', async () => {
    const { payTo } = world.terms
    expect(await refusal({}, { payTo: payTo.toLowerCase() })).toBeUndefined()
    expect(await refusal({ to: payTo.toLowerCase() })).toBeUndefined()
    expect(await refusal({}, { token: { ...usdc, asset: usdc.asset.toLowerCase() } })).toBeUndefined()
  })

  test('one that became valid since the last block, and that only', async () => {
    const paid = await signPayment(world.payer, world.terms)
    const settlement = calls.transfer(paid, true)
    const early = (data: string) => data === settlement
    const verifyAt = async (lastBlock: bigint) => {
      const node = await startRestingNode(world.settings.rpcUrls[0]!, lastBlock, early)
      const refused = await world.connect({ rpcUrls: [node.url] }).verify(paid, world.terms, new Date())
      await node.close()
      return refused
    }
    expect(await verifyAt(paid.validAfter)).toBeUndefined()
    expect(await verifyAt(paid.validAfter + 1n)).toMatchObject({ reason: 'invalid_transaction_state' })
  })

  test('the payment of a wallet that is a contract', async () => {
    const wallet = await world.place(credulousWallet)
    await world.mint(wallet, world.terms.amount)
    for (const signature of ['0x', '0x1234', `0x${'ab'.repeat(65)}`, `0x${'ab'.repeat(300)}`]) {
      const { authorization } = await signPayload(world.payer, world.terms, { from: wallet })
      const paid = payment({ signature, authorization })
      expect(await world.chain.verify(paid, world.terms, new Date())).toBeUndefined()
    }
  })
})

describe('verify refuses', () => {
  test.each<[string, string, () => ReturnType<typeof refusal>]>([
    [
      'another recipient',
      'invalid_exact_evm_payload_recipient_mismatch',
      () => refusal({ to: world.signer.address }),
    ],
    [
      'a value of one less',
      'invalid_exact_evm_payload_authorization_value',
      () => refusal({ value: '9999' }),
    ],
    [
      'a value of one more',
      'invalid_exact_evm_payload_authorization_value',
      () => refusal({ value: '10001' }),
    ],
    ['a value of zero', 'invalid_exact_evm_payload_authorization_value', () => refusal({ value: '0' })],
    ['terms of zero', 'invalid_payment_requirements', () => refusal({ value: '0' }, { amount: 0n })],
    ['payTo zero', 'invalid_payment_requirements', () => refusal({}, { payTo: `0x${'0'.repeat(40)}` })],
    [
      'payTo the asset',
      'invalid_payment_requirements',
      () => refusal({}, { payTo: usdc.asset.toLowerCase() }),
    ],
    [
      'payTo our signer',
      'invalid_payment_requirements',
      () => refusal({}, { payTo: world.signer.address.toLowerCase() }),
    ],
    ['payTo no address', 'invalid_exact_evm_payload_recipient_mismatch', () => refusal({}, { payTo: '' })],
    [
      'extra.name not the token’s',
      'invalid_payment_requirements',
      () => refusal({}, { extra: { name: 'USD Coin' } }),
    ],
    [
      'extra.version not the token’s',
      'invalid_payment_requirements',
      () => refusal({}, { extra: { version: '1' } }),
    ],
    [
      'extra.version as a number',
      'invalid_payment_requirements',
      () => refusal({}, { extra: { version: 2 } }),
    ],
    [
      'a token without a known domain',
      'invalid_payment_requirements',
      () => refusal({}, { token: { asset: usdc.asset, symbol: 'USDC', decimals: 6 } }),
    ],
    [
      'valid in a minute',
      'invalid_exact_evm_payload_authorization_valid_after',
      () => refusal({ validAfter: inSeconds(60) }),
    ],
    [
      'expired',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ validBefore: inSeconds(-1) }),
    ],
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(
      (seconds) =>
        [
          `ending in ${seconds} seconds, before it could be settled`,
          'invalid_exact_evm_payload_authorization_valid_before',
          () => refusal({ validBefore: inSeconds(seconds) }),
        ] as [string, string, () => ReturnType<typeof refusal>],
    ),
    [
      'an inverted window',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ validAfter: inSeconds(-100), validBefore: inSeconds(-200) }),
    ],
    [
      'ending in three days',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ validBefore: inSeconds(3 * 86_400) }),
    ],
    [
      'ending past 2^64',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => refusal({ validBefore: (2n ** 64n + now()).toString() }),
    ],
    [
      'beginning past 2^64',
      'invalid_exact_evm_payload_authorization_valid_after',
      () => refusal({ validAfter: (2n ** 64n).toString() }),
    ],
    [
      'more than the payer has',
      'insufficient_funds',
      () => refusal({ value: '1000001' }, { amount: 1_000_001n }),
    ],
    [
      'a signature for another chain',
      'invalid_exact_evm_payload_signature',
      () => refusal({}, {}, { ...usdcDomain, chainId: 8453 }),
    ],
    [
      'a signature for another token',
      'invalid_exact_evm_payload_signature',
      () => refusal({}, {}, { ...usdcDomain, verifyingContract: world.terms.payTo }),
    ],
    [
      'somebody else’s signature',
      'invalid_exact_evm_payload_signature',
      () => refusal({ from: world.signer.address }),
    ],
    ['the high-s twin', 'invalid_exact_evm_payload_signature', () => refusalOfSignature(highTwin)],
    ['EIP-2098', 'invalid_exact_evm_payload_signature', () => refusalOfSignature(compact)],
    [
      '66 bytes',
      'invalid_exact_evm_payload_signature',
      () => refusalOfSignature((signature) => `${signature}00`),
    ],
    [
      'v of 0',
      'invalid_exact_evm_payload_signature',
      () => refusalOfSignature((signature) => `${signature.slice(0, -2)}00`),
    ],
    ['no signature', 'invalid_exact_evm_payload_signature', () => refusalOfSignature(() => '0x')],
    [
      'a contract whose owner did not sign',
      'invalid_exact_evm_payload_signature',
      async () => refusal({ from: await world.newSmartWallet(world.signer) }),
    ],
    [
      'the wallet that a signature would have to deploy',
      'invalid_exact_evm_payload_undeployed_smart_wallet',
      () => refusalOfSignature((signature) => `${signature}${'6492'.repeat(16)}`),
    ],
    [
      'an asset that is no contract',
      'invalid_payment_requirements',
      () => {
        const asset = Wallet.createRandom().address
        return refusal({}, { token: { ...usdc, asset } }, { ...usdcDomain, verifyingContract: asset })
      },
    ],
    [
      'an asset without authorizations',
      'invalid_payment_requirements',
      async () => {
        const asset = await world.place(silentToken)
        return refusal({}, { token: { ...usdc, asset } }, { ...usdcDomain, verifyingContract: asset })
      },
    ],
  ])('%s', async (_, reason, refused) => {
    expect(await refused()).toEqual({ reason, detail: expect.any(String) as string })
  })

  test('a payer that pays itself', async () => {
    const terms = { ...world.terms, payTo: world.payer.address }
    const paid = await signPayment(world.payer, terms)
    expect(await world.chain.verify(paid, terms, new Date())).toMatchObject({ reason: 'invalid_payment' })
  })

  test('any one bit flipped in the signature', async () => {
    const payload = await signPayload(world.payer, world.terms)
    const refusals = await Promise.all(
      [...bitFlips(payload.signature)].map((signature) =>
        world.chain.verify(payment({ ...payload, signature }), world.terms, new Date()),
      ),
    )
    expect(new Set(refusals.map((one) => one?.reason))).toEqual(
      new Set(['invalid_exact_evm_payload_signature']),
    )
  })

  test('a payment that was settled, and one that was cancelled', async () => {
    const settled = await signPayment(world.payer, world.terms)
    expect(await world.settle(settled)).toMatchObject({ status: 'settled' })
    expect(await world.chain.verify(settled, world.terms, new Date())).toMatchObject({
      reason: 'invalid_transaction_state',
    })

    const cancelled = await signPayment(world.payer, world.terms)
    await world.cancel(cancelled)
    expect(await world.chain.verify(cancelled, world.terms, new Date())).toMatchObject({
      reason: 'invalid_transaction_state',
    })
  })

  test.each([
    ['refuses', refusingWallet],
    ['never ends', endlessWallet],
    ['answers a megabyte', talkativeWallet],
    ['has no such function', '0x5f5ffd'],
  ])('a contract in the place of the payer that %s', async (_, code) => {
    const wallet = await world.place(code)
    await world.mint(wallet, world.terms.amount)
    const { authorization } = await signPayload(world.payer, world.terms, { from: wallet })
    expect(
      await world.chain.verify(
        payment({ signature: `0x${'ab'.repeat(65)}`, authorization }),
        world.terms,
        new Date(),
      ),
    ).toMatchObject({ reason: 'invalid_exact_evm_payload_signature' })
  })

  test('by the clock of the chain where that is ahead', async () => {
    const ahead = await startLyingNode(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...(reply.result as object), timestamp: `0x${(now() + 3_600n).toString(16)}` } }
        : reply,
    )
    const chain = world.connect({ rpcUrls: [ahead.url] })
    expect(await refusal({}, {}, usdcDomain, chain)).toMatchObject({
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
    })
    await ahead.close()
  })
})

/** The chain through a node that tells what it was asked. */
async function watched() {
  const { url, requests, close } = await startLyingNode(world.settings.rpcUrls[0]!, (_, reply) => reply)
  const chain = world.connect({ rpcUrls: [url] })
  await chain.head()
  requests.length = 0
  return { chain, requests, close }
}

describe('verify', () => {
  test('asks the chain once, and only about what it cannot know', async () => {
    const { chain, requests, close } = await watched()
    expect(await refusal({ value: '1' }, {}, usdcDomain, chain)).toBeDefined()
    expect(requests).toHaveLength(0)
    expect(await refusal({}, {}, usdcDomain, chain)).toBeUndefined()
    expect(requests).toHaveLength(1)
    await close()
  })

  test('gives no contract more gas than a settlement may use', async () => {
    const { chain, requests, close } = await watched()
    await refusal({ from: await world.place(endlessWallet) }, {}, usdcDomain, chain)
    const calls = requests.flat().filter(({ method }) => method === 'eth_call')
    expect(calls).toHaveLength(4)
    for (const { params } of calls)
      expect(params[0]).toMatchObject({ gas: `0x${world.settings.maxGas.toString(16)}` })
    await close()
  })

  test('never takes a chain that cannot be asked for a refusal, nor for a consent', async () => {
    const chain = world.connect({ rpcUrls: ['http://127.0.0.1:9'] })
    await expect(refusal({}, {}, usdcDomain, chain)).rejects.toThrow(ChainUnavailable)

    const failing = await startLyingNode(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_call' ? { error: { code: -32000, message: 'header not found' } } : reply,
    )
    const lagging = world.connect({ rpcUrls: [failing.url] })
    await expect(refusal({}, {}, usdcDomain, lagging)).rejects.toThrow(ChainUnavailable)
    await failing.close()
  })

  test('is deceived by a wallet that lies to questions, but only until the transaction', async () => {
    const wallet = await world.place(lyingWallet)
    await world.mint(wallet, world.terms.amount)
    const { authorization } = await signPayload(world.payer, world.terms, { from: wallet })
    const lie = payment({ signature: '0x', authorization })
    expect(await world.chain.verify(lie, world.terms, new Date())).toBeUndefined()
    const before = await world.balance(world.terms.payTo)
    expect(await world.settle(lie)).toMatchObject({ status: 'failed', reason: 'invalid_transaction_state' })
    expect(await world.balance(world.terms.payTo)).toBe(before)
  })
})
