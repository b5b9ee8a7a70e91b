import * as fc from 'fast-check'
import { assertFeeModest, choosePrice, feeFor, parseGasPrice } from './fee'

const priceOf = (denom: string, price: bigint) => ({ denom, price })
const UNIT = 10n ** 18n

test.each([
  ['0.025uatom', priceOf('uatom', 25n * 10n ** 15n)],
  ['0.025000000000000000uatom', priceOf('uatom', 25n * 10n ** 15n)],
  ['160000000inj', priceOf('inj', 160_000_000n * UNIT)],
  ['0.1ibc/EF48E6B1', priceOf('ibc/EF48E6B1', UNIT / 10n)],
  ['0uatom', priceOf('uatom', 0n)],
  ['', undefined],
  ['0.025', undefined],
  ['uatom', undefined],
  ['-1uatom', undefined],
  ['.5uatom', undefined],
  ['1.0000000000000000001uatom', undefined],
  ['1e3uatom,', undefined],
])('the price of gas %j', (text, expected) => {
  expect(parseGasPrice(text)).toEqual(expected)
})

test.each([
  ['0.025uatom', 'uatom'],
  ['0.02ibc/EF48,0.1uusdc', 'uusdc'],
  ['0.02ibc/EF48,0.01factory/x/y', 'ibc/EF48'],
  ['0uatom,1ustake', 'ustake'],
  ['0uatom', undefined],
  ['', undefined],
  ['nonsense', undefined],
])('of the prices %j the fee is in %s', (minimum, denom) => {
  expect(choosePrice(minimum)?.denom).toBe(denom)
})

test('a fee is the price of the gas, rounded up, as a node counts', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 30n }), fc.boolean(), (price, isGranted) => {
      const { amount, gas } = feeFor(
        { denom: 'uatom', price },
        isGranted ? { granter: 'cosmos1granter' } : undefined,
      )
      const [fee, due] = [BigInt(amount[0]!.amount) * UNIT, BigInt(gas) * price]
      expect([amount.length, fee >= due, fee - due < UNIT]).toEqual([1, true, true])
    }),
  )
})

test('a granter is charged for its allowance too, and for nothing where gas is free', () => {
  const price = parseGasPrice('0.025uatom')!
  expect(feeFor(price)).toEqual({ amount: [{ denom: 'uatom', amount: '3750' }], gas: '150000' })
  expect(feeFor(price, { granter: 'cosmos1granter' })).toEqual({
    amount: [{ denom: 'uatom', amount: '4500' }],
    gas: '180000',
    granter: 'cosmos1granter',
  })
  expect(feeFor({ denom: 'uatom', price: 0n }, { granter: 'cosmos1granter' })).toEqual({
    amount: [],
    gas: '150000',
  })
})

test.each([
  ['100000', undefined, true],
  ['100001', undefined, false],
  ['100001', 'cosmos1granter', true],
])('a fee of %s paid by %s may be paid unasked: %s', (amount, granter, expected) => {
  const fee = { amount: [{ denom: 'uatom', amount }], gas: '1', ...(granter && { granter }) }
  const assertion = () => assertFeeModest(fee)
  if (expected) expect(assertion).not.toThrow()
  else expect(assertion).toThrow(expect.objectContaining({ code: 'LIMIT_REACHED' }) as Error)
})
