import { CosmosConfiguration } from '../network'
import { feeFor } from './fees'

const priceOf = (gas_price: string) =>
  CosmosConfiguration.parse({ bech32_prefix: 'cosmos', fee_denom: 'uatom', gas_price }).gasPrice

describe('the fee for gas', () => {
  test('is the price times the gas, rounded up to a whole smallest unit', () => {
    for (const [gas, price, fee] of [
      [200_000n, '0.025', 5_000n],
      [200_001n, '0.025', 5_001n],
      [200_040n, '0.025', 5_001n],
      [200_041n, '0.025', 5_002n],
      [1n, '0.000000000000000001', 1n],
      [100_000n, '500000000', 50_000_000_000_000n],
      [100_000n, '0', 0n],
      [0n, '0.025', 0n],
    ] as const)
      expect([gas, price, feeFor(gas, priceOf(price))]).toEqual([gas, price, fee])
  })

  test('is exact where a floating-point number is not', () =>
    expect(feeFor(3n * 10n ** 15n, priceOf('0.100000000000000001'))).toBe(300_000_000_000_001n))
})
