import { createGasModel, MOST_GAS, withMargin } from './gas-model'

const ASSET = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

describe('createGasModel', () => {
  test('expects what the payments of an asset lately needed, and a little more', () => {
    let now = 0
    const model = createGasModel(() => now)
    expect(model.expected(ASSET, 100)).toBeUndefined()
    expect(model.maxBatch(ASSET)).toBe(50)
    model.learn(ASSET, 50, 2_321_000n)
    expect(model.expected(ASSET.toLowerCase(), 100)).toBe(4_713_420n)
    expect(model.maxBatch(ASSET)).toBe(150)
    expect(model.expected('0x01', 100)).toBeUndefined()
    now = 600_000
    expect(model.expected(ASSET, 100)).toBeUndefined()
  })

  test('never lets a batch with its margin exceed the gas of a transaction', () => {
    const model = createGasModel(() => 0)
    for (const each of [40_000n, 100_000n, 120_000n, 200_000n]) {
      model.learn(ASSET, 10, 21_000n + 10n * each)
      const gas = model.expected(ASSET, model.maxBatch(ASSET))
      expect(gas === undefined || withMargin(gas, 2n * MOST_GAS) < MOST_GAS).toBe(true)
      expect(model.maxBatch(ASSET)).toBeGreaterThanOrEqual(50)
    }
  })
})

test.each([20_000n, 21_000n, 21_001n])('an estimate of %d gas from a faulty node does no harm', (gas) => {
  const model = createGasModel()
  model.learn('0xA', 2, gas)
  expect(model.maxBatch('0xA')).toBe(50)
  expect(model.expected('0xA', 150) ?? 21_000n).toBeGreaterThanOrEqual(21_000n)
})
