import { assetAmount, describeAmount, parseAssetAmount } from './asset-amount'

const usdc = { network: 'eip155:84532', asset: '0x036cbd53842c5426634e7929541ec2318f3dcf7e' }
const atom = { network: 'cosmos:cosmoshub-4', asset: 'uatom' }

test.each([
  [10_000n, '0.01'],
  [0n, '0'],
  [1n, '0.000001'],
  [12_000_000n, '12'],
])('%s smallest units are %s USDC, in both directions', (units, value) => {
  expect(assetAmount(units, usdc)).toEqual({ value, decimals: 6, symbol: 'USDC' })
  expect(describeAmount(units, usdc)).toBe(`${value} USDC`)
  expect(parseAssetAmount(`${value} USDC`, usdc)).toBe(units)
})

test('an asset that is not known is written in smallest units', () => {
  expect(assetAmount(7n, atom)).toBeUndefined()
  expect(describeAmount(7n, atom)).toBe('7 smallest units of uatom on cosmos:cosmoshub-4')
})

test.each([
  ['0.01 EURC', usdc],
  ['0.0000001 USDC', usdc],
  ['0.01', usdc],
  ['-1 USDC', usdc],
  ['1 ATOM', atom],
])('%j is no amount of %j', (text, asset) => expect(parseAssetAmount(text, asset)).toBeUndefined())
