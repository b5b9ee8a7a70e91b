import type { Terms } from '../family'
import { usdc } from './testing/authorization'
import { openTestChain, type TestChain } from './testing/chain'

let world: TestChain
beforeAll(async () => {
  world = await openTestChain()
})
afterAll(() => world.close())

describe('checkTerms', () => {
  test.each<[string, () => Partial<Terms>]>([
    ['an amount of zero', () => ({ amount: 0n })],
    ['an amount below zero', () => ({ amount: -1n })],
    ['an amount past 2^256', () => ({ amount: 2n ** 256n })],
    ['payTo zero', () => ({ payTo: `0x${'0'.repeat(40)}` })],
    ['payTo the asset', () => ({ payTo: usdc.asset.toLowerCase() })],
    ['payTo our signer', () => ({ payTo: world.signer.address.toLowerCase() })],
    ['another name than the token’s', () => ({ extra: { name: 'USD Coin' } })],
  ])('refuses %s, in the words of verify', async (_, change) => {
    const refusal = world.chain.payments.checkTerms({ ...world.terms, ...change() })
    expect(refusal).toEqual(await world.refusal({}, change()))
    expect(refusal?.reason).toBe('invalid_payment_requirements')
  })

  test('refuses nothing that somebody could pay', () => {
    for (const amount of [1n, 2n ** 256n - 1n])
      expect(world.chain.payments.checkTerms({ ...world.terms, amount })).toBeUndefined()
  })

  test('refuses no token without EIP-3009, which Permit2 pays: only EIP-3009 payments in it are refused', async () => {
    const { asset, symbol, decimals } = usdc
    for (const token of [
      { asset, symbol, decimals },
      { ...usdc, assetTransferMethod: 'permit2' as const },
    ]) {
      expect(world.chain.payments.checkTerms({ ...world.terms, token })).toBeUndefined()
      expect(await world.refusal({}, { token })).toMatchObject({
        reason: 'invalid_payment_requirements',
        detail: expect.stringMatching(/pay by Permit2/) as string,
      })
    }
  })
})
