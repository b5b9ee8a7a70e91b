import { Wallet } from 'ethers'
import type { Refusal } from '../family'
import { payment, signPayload, signPayment, usdc, usdcDomain } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'
import { endlessWallet, refusingWallet, silentToken, talkativeWallet } from './testing/contracts'
import { startAlteringProxy } from '../json-rpc/testing/node'
import { bitFlips, highTwin } from './testing/signatures'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

const now = () => BigInt(Math.floor(Date.now() / 1000))
const inSeconds = (seconds: number) => (now() + BigInt(seconds)).toString()

async function refusalOfSignature(change: (signature: string) => string) {
  const payload = await signPayload(world.payer, world.terms)
  return world.chain.payments.verify({
    payment: payment({ ...payload, signature: change(payload.signature) }),
    terms: world.terms,
    now: new Date(),
  })
}

describe('verify refuses', () => {
  test.each<[string, string, () => Promise<Refusal | undefined>]>([
    [
      'another recipient',
      'invalid_exact_evm_payload_recipient_mismatch',
      () => world.refusal({ to: world.signer.address }),
    ],
    [
      'a value of one less',
      'invalid_exact_evm_payload_authorization_value',
      () => world.refusal({ value: '9999' }),
    ],
    [
      'a value of one more',
      'invalid_exact_evm_payload_authorization_value',
      () => world.refusal({ value: '10001' }),
    ],
    ['a value of zero', 'invalid_exact_evm_payload_authorization_value', () => world.refusal({ value: '0' })],
    ['terms of zero', 'invalid_payment_requirements', () => world.refusal({ value: '0' }, { amount: 0n })],
    ['payTo zero', 'invalid_payment_requirements', () => world.refusal({}, { payTo: `0x${'0'.repeat(40)}` })],
    [
      'payTo the asset',
      'invalid_payment_requirements',
      () => world.refusal({}, { payTo: usdc.asset.toLowerCase() }),
    ],
    [
      'payTo our signer',
      'invalid_payment_requirements',
      () => world.refusal({}, { payTo: world.signer.address.toLowerCase() }),
    ],
    [
      'payTo no address',
      'invalid_exact_evm_payload_recipient_mismatch',
      () => world.refusal({}, { payTo: '' }),
    ],
    [
      'extra.name not the token’s',
      'invalid_payment_requirements',
      () => world.refusal({}, { extra: { name: 'USD Coin' } }),
    ],
    [
      'extra.version not the token’s',
      'invalid_payment_requirements',
      () => world.refusal({}, { extra: { version: '1' } }),
    ],
    [
      'extra.version as a number',
      'invalid_payment_requirements',
      () => world.refusal({}, { extra: { version: 2 } }),
    ],
    [
      'a token without a known domain',
      'invalid_payment_requirements',
      () => world.refusal({}, { token: { asset: usdc.asset, symbol: 'USDC', decimals: 6 } }),
    ],
    [
      'valid in a minute',
      'invalid_exact_evm_payload_authorization_valid_after',
      () => world.refusal({ validAfter: inSeconds(60) }),
    ],
    [
      'expired',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => world.refusal({ validBefore: inSeconds(-1) }),
    ],
    ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(
      (seconds) =>
        [
          `ending in ${seconds} seconds, before it could be settled`,
          'invalid_exact_evm_payload_authorization_valid_before',
          () => world.refusal({ validBefore: inSeconds(seconds) }),
        ] as [string, string, () => Promise<Refusal | undefined>],
    ),
    [
      'an inverted window',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => world.refusal({ validAfter: inSeconds(-100), validBefore: inSeconds(-200) }),
    ],
    [
      'ending in three days',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => world.refusal({ validBefore: inSeconds(3 * 86_400) }),
    ],
    [
      'ending past 2^64',
      'invalid_exact_evm_payload_authorization_valid_before',
      () => world.refusal({ validBefore: (2n ** 64n + now()).toString() }),
    ],
    [
      'beginning past 2^64',
      'invalid_exact_evm_payload_authorization_valid_after',
      () => world.refusal({ validAfter: (2n ** 64n).toString() }),
    ],
    [
      'more than the payer has',
      'insufficient_funds',
      () => world.refusal({ value: '1000001' }, { amount: 1_000_001n }),
    ],
    [
      'a signature for another chain',
      'invalid_exact_evm_payload_signature',
      () => world.refusal({}, {}, { ...usdcDomain, chainId: 8453 }),
    ],
    [
      'a signature for another token',
      'invalid_exact_evm_payload_signature',
      () => world.refusal({}, {}, { ...usdcDomain, verifyingContract: world.terms.payTo }),
    ],
    [
      'somebody else’s signature',
      'invalid_exact_evm_payload_signature',
      () => world.refusal({ from: world.signer.address }),
    ],
    ['the high-s twin', 'invalid_exact_evm_payload_signature', () => refusalOfSignature(highTwin)],
    [
      '66 bytes',
      'invalid_exact_evm_payload_signature',
      () => refusalOfSignature((signature) => `${signature}00`),
    ],
    [
      'v of 2',
      'invalid_exact_evm_payload_signature',
      () => refusalOfSignature((signature) => `${signature.slice(0, -2)}02`),
    ],
    ['no signature', 'invalid_exact_evm_payload_signature', () => refusalOfSignature(() => '0x')],
    [
      'a contract whose owner did not sign',
      'invalid_exact_evm_payload_signature',
      async () => world.refusal({ from: await world.newSmartWallet(world.signer) }),
    ],
    [
      'a signature with the suffix of a wrapper, and no wrapper',
      'invalid_exact_evm_payload_signature',
      () => refusalOfSignature((signature) => `${signature}${'6492'.repeat(16)}`),
    ],
    [
      'an asset that is no contract',
      'invalid_payment_requirements',
      () => {
        const asset = Wallet.createRandom().address
        return world.refusal({}, { token: { ...usdc, asset } }, { ...usdcDomain, verifyingContract: asset })
      },
    ],
    [
      'an asset without authorizations',
      'invalid_payment_requirements',
      async () => {
        const asset = await world.place(silentToken)
        return world.refusal({}, { token: { ...usdc, asset } }, { ...usdcDomain, verifyingContract: asset })
      },
    ],
  ])('%s', async (_, reason, refused) => {
    expect(await refused()).toEqual({ reason, detail: expect.any(String) as string })
  })

  test('a payer that pays itself', async () => {
    const terms = { ...world.terms, payTo: world.payer.address }
    const paid = await signPayment(world.payer, terms)
    expect(await world.chain.payments.verify({ payment: paid, terms, now: new Date() })).toMatchObject({
      reason: 'invalid_payment',
    })
  })

  test('any one bit flipped in the signature', async () => {
    const payload = await signPayload(world.payer, world.terms)
    const refusals = await Promise.all(
      [...bitFlips(payload.signature)].map((signature) =>
        world.chain.payments.verify({
          payment: payment({ ...payload, signature }),
          terms: world.terms,
          now: new Date(),
        }),
      ),
    )
    expect(new Set(refusals.map((one) => one?.reason))).toEqual(
      new Set(['invalid_exact_evm_payload_signature']),
    )
  })

  test('a payment that was settled, and one that was cancelled', async () => {
    const settled = await signPayment(world.payer, world.terms)
    expect(await world.settle(settled)).toMatchObject({ isSettled: true })
    expect(
      await world.chain.payments.verify({ payment: settled, terms: world.terms, now: new Date() }),
    ).toMatchObject({
      reason: 'invalid_transaction_state',
    })

    const cancelled = await signPayment(world.payer, world.terms)
    await world.cancel(cancelled)
    expect(
      await world.chain.payments.verify({ payment: cancelled, terms: world.terms, now: new Date() }),
    ).toMatchObject({
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
      await world.chain.payments.verify({
        payment: payment({ signature: `0x${'ab'.repeat(65)}`, authorization }),
        terms: world.terms,
        now: new Date(),
      }),
    ).toMatchObject({ reason: 'invalid_exact_evm_payload_signature' })
  })

  test('with the amounts in units of the asset', async () => {
    expect(await world.refusal({ value: '2000000' }, { amount: 2_000_000n })).toMatchObject({
      detail: expect.stringMatching(/^the payer has [01](\.[0-9]+)? USDC, and pays 2 USDC$/) as string,
    })
  })

  const HERE = `name "USDC", version "2", chainId 84532, verifyingContract "${usdc.asset}"`
  const NOW = 'the clock of this service says 20..-..-..T..:..:..Z$'
  test.each<[string, () => Promise<Refusal | undefined>, string]>([
    [
      'a value of one less',
      () => world.refusal({ value: '9999' }),
      '^the payer signed 0.009999 USDC, and exactly 0.01 USDC is required$',
    ],
    [
      'a signature for another chain',
      () => world.refusal({}, {}, { ...usdcDomain, chainId: 8453 }),
      `^not signed by PAYER in the EIP-712 domain ${HERE}$`,
    ],
    ['a name that is not the token’s', () => world.refusal({}, { extra: { name: 'USD Coin' } }), '"USDC"$'],
    [
      'a beginning to come',
      () => world.refusal({ validAfter: '4102444800' }),
      `^not valid before 2100-01-01T00:00:00Z, and ${NOW}`,
    ],
    [
      'a beginning in milliseconds',
      () => world.refusal({ validAfter: '4102444800000' }),
      `^not valid before Unix second 4102444800000, and ${NOW}`,
    ],
    [
      'an end that has passed',
      () => world.refusal({ validAfter: '0', validBefore: '1704067200' }),
      `^valid before 2024-01-01T00:00:00Z, so it has expired: ${NOW}`,
    ],
    [
      'an end before it could be settled',
      () => world.refusal({ validBefore: inSeconds(2) }),
      `^valid before 20.*Z, and a settlement needs more than [0-9]+ s: ${NOW}`,
    ],
  ])('with what to correct: %s', async (_, refused, expected) => {
    const detail = (await refused())?.detail
    expect(detail).toMatch(new RegExp(expected.replace('PAYER', world.payer.address)))
    expect(detail?.length).toBeLessThanOrEqual(200)
  })

  test('by the clock of the chain where that is ahead', async () => {
    const ahead = await startAlteringProxy(world.settings.rpcUrls[0]!, ({ method }, reply) =>
      method === 'eth_getBlockByNumber'
        ? { result: { ...(reply.result as object), timestamp: `0x${(now() + 3_600n).toString(16)}` } }
        : reply,
    )
    const chain = world.connect({ rpcUrls: [ahead.url] })
    expect(await world.refusal({}, {}, usdcDomain, chain)).toMatchObject({
      reason: 'invalid_exact_evm_payload_authorization_valid_before',
      detail: expect.stringContaining('expired: the clock of the chain says 20') as string,
    })
    await ahead.close()
  })
})
