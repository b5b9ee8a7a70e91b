import { feesAt, feesToReplace } from './fees'

const gwei = 1_000_000_000n
const cap = 100n * gwei

describe('the fees that replace others', () => {
  test('are those of the day where these are higher', () => {
    const old = { maxFeePerGas: 2n * gwei, maxPriorityFeePerGas: gwei }
    const price = { baseFee: 20n * gwei, tip: 3n * gwei }
    expect(feesToReplace(old, price, cap)).toEqual(feesAt(price, cap))
  })

  test('are an eighth more of both, rounded up, where the day asks for less', () => {
    const price = { baseFee: 1n, tip: 0n }
    for (const [fee, raised] of [
      [0n, 1n],
      [1n, 2n],
      [7n, 8n],
      [8n, 9n],
      [9n, 11n],
      [8n * gwei, 9n * gwei],
    ] as const)
      expect(
        feesToReplace({ maxFeePerGas: fee + 100n, maxPriorityFeePerGas: fee }, price, cap),
      ).toMatchObject({
        maxPriorityFeePerGas: raised,
      })
    expect(feesToReplace({ maxFeePerGas: 80n * gwei, maxPriorityFeePerGas: 8n * gwei }, price, cap)).toEqual({
      maxFeePerGas: 90n * gwei,
      maxPriorityFeePerGas: 9n * gwei,
    })
  })

  test('raise each fee by itself', () => {
    const old = { maxFeePerGas: 80n * gwei, maxPriorityFeePerGas: gwei }
    expect(feesToReplace(old, { baseFee: gwei, tip: 5n * gwei }, cap)).toEqual({
      maxFeePerGas: 90n * gwei,
      maxPriorityFeePerGas: 5n * gwei,
    })
  })

  test('reach the cap, and never pass it', () => {
    const price = { baseFee: gwei, tip: gwei }
    const old = (maxFeePerGas: bigint) => ({ maxFeePerGas, maxPriorityFeePerGas: gwei })
    expect(feesToReplace(old(8n * gwei), price, 9n * gwei)).toMatchObject({ maxFeePerGas: 9n * gwei })
    expect(feesToReplace(old(8n * gwei), price, 9n * gwei - 1n)).toBeUndefined()
    expect(feesToReplace(old(2n * gwei), { baseFee: 60n * gwei, tip: gwei }, cap)).toMatchObject({
      maxFeePerGas: cap,
    })
    expect(feesToReplace(old(2n * gwei), { baseFee: 99n * gwei, tip: 2n * gwei }, cap)).toBeUndefined()
  })
})
