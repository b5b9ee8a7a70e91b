import { type Limits } from '@tollgate/wallet'
import { STABLECOINS } from '../assets/stablecoins'
import { createAmountFormat, describeLimits, findMissingLimit } from './amounts'

const usdc = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
const format = createAmountFormat(STABLECOINS)

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
