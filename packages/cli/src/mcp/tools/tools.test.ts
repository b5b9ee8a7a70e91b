import { parseAssets } from '../../assets/known-assets'
import { testPlan } from '../../testing/plan'
import { priceOfCalls } from './catalog-tools'
import { parseTarget } from './pay-x402-url'

describe('the price of calls', () => {
  const known = parseAssets(['cosmos:a-1/uatom:3'])
  const atom = { ecosystem: 'cosmos', chain_id: 'a-1', asset_address: 'uatom' }

  test.each([
    [{}, 1, '0.0001 USDC'],
    [{}, 3, '0.0003 USDC'],
    [{}, 0, '0 USDC'],
    [{ credits: 3, amount: '1' }, 2, '0.000000666666666666 USDC'],
    [{ decimals: 0, price_per_credit: '9', display_denom: 'GOLD' }, 1, '0.0001 USDC'],
    [{ ...atom, display_denom: 'USDC' }, 1, '0.1 of uatom (3 decimals)'],
    [{ ...atom, asset_address: 'other' }, 1, '100 smallest units of other on cosmos:a-1'],
    [{ credits: 0 }, 1, 'unknown'],
    [{}, 0.5, 'unknown'],
  ])('of %j for %d credits is %s', (changes, credits, price) =>
    expect(priceOfCalls(testPlan(changes), credits, known)).toBe(price),
  )
})

describe('parseTarget', () => {
  test.each([
    'file:///etc/passwd',
    'ftp://x/',
    'data:text/plain,x',
    'javascript:1',
    '/relative',
    '',
    'http://',
  ])('%s is refused', (url) => expect(() => parseTarget(url)).toThrow('absolute'))
  test('refuses a user and password', () =>
    expect(() => parseTarget('http://u:p@shop.example/')).toThrow('password'))
  test('leaves the fragment out', () =>
    expect(parseTarget('http://x.example/a#b')).toBe('http://x.example/a'))
})
