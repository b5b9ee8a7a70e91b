import { type Limits, type Plan } from '@tollgate/wallet'
import { createAmountFormat, describeLimits, findMissingLimit } from './amounts'

const usdc = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
const plan = {
  ecosystem: 'evm',
  chain_id: '84532',
  asset_address: usdc.asset,
  decimals: 6,
  display_denom: 'USDC',
} as Plan
const format = createAmountFormat([plan])

describe('amounts', () => {
  test.each([
    [10_000n, usdc, '0.01 USDC'],
    [1_000_000n, { ...usdc, asset: usdc.asset.toLowerCase() }, '1 USDC'],
    [1n, usdc, '0.000001 USDC'],
    [7n, { network: 'eip155:1', asset: '0xa' }, '7 smallest units of 0xa on eip155:1'],
  ])('%s of %j is %s', (amount, asset, text) => expect(format(amount, asset)).toBe(text))
})

test('amounts are in decimals that are known, not those that a gateway states', () => {
  const other = { network: 'cosmos:a-1', asset: 'uatom' }
  const stated = createAmountFormat(
    [
      { ...plan, decimals: 0 },
      { ...plan, ecosystem: 'cosmos', chain_id: 'a-1', asset_address: 'uatom' },
    ],
    [
      { ...usdc, symbol: 'USDC', decimals: 6 },
      { ...other, decimals: 3 },
    ],
  )
  expect([stated(10_000n, usdc), stated(10_000n, other)]).toEqual(['0.01 USDC', '10 USDC'])
})

describe('limits', () => {
  const limits: Limits = { assets: [{ ...usdc, perPayment: 50_000n, perDay: '1000000' }] }

  test('are stated in the asset’s unit', () => {
    expect(describeLimits(limits, format)).toBe(
      `Limits of ${usdc.asset} on ${usdc.network}: at most 0.05 USDC for one payment, 1 USDC in a day (UTC). Other assets are not paid.`,
    )
  })

  test('name the recipients', () => {
    expect(describeLimits({ ...limits, recipients: ['0xb'] }, format)).toContain('0xb')
  })

  test.each([
    [undefined, 'no limits are set'],
    [{ assets: [] }, 'no limits are set'],
    [{ assets: [{ ...usdc, perPayment: 1n }] }, `${usdc.asset} on ${usdc.network} has no limit for a day`],
    [limits, undefined],
  ])('%# are complete or not', (given, missing) => expect(findMissingLimit(given)).toBe(missing))
})
