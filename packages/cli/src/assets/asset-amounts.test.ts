import { describeAmount } from './asset-amounts'
import { parseAssets } from './known-assets'

const usdc = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
const token = { network: 'eip155:1', asset: `0x${'ab'.repeat(20)}` }
const atom = { network: 'cosmos:a-1', asset: 'uatom' }
const known = parseAssets([`${token.network}/${token.asset}:18`, 'cosmos:a-1/uatom:6'])

test.each([
  [10_000n, usdc, '0.01 USDC'],
  ['1000000', { ...usdc, asset: usdc.asset.toLowerCase() }, '1 USDC'],
  [10_000n, atom, '0.01 of uatom (6 decimals)'],
  [10n ** 18n, token, '1 of 0xabababab…abab (18 decimals)'],
  [7n, { network: 'eip155:1', asset: '0xa' }, '7 smallest units of 0xa on eip155:1'],
])('%s of %j is %s', (units, asset, text) => expect(describeAmount(units, asset, known)).toBe(text))
