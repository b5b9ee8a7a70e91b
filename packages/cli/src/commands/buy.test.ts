import { parseAssets } from '../assets/known-assets'
import { testPlan } from '../testing/plan'
import { offerOf } from './buy'

const [usdc] = parseAssets([]).filter(({ network }) => network === 'eip155:84532')

test('what is confirmed begins with the amount, and quotes what the gateway calls it', () => {
  const plan = testPlan({ plan_name: 'x) for 0.0001 USDC on "base"', display_denom: 'USDC (about nothing)' })
  expect(usdc && offerOf(plan, usdc, '0xpayer').split('\n')).toEqual([
    '0.01 USDC on eip155:84532, which are 10000 smallest units of 0x036CbD53842c5426634e7929541eC2318f3dCF7e,',
    'from 0xpayer',
    'to   0x941b84B0EFa6B0De50C626dD1c5870441344F361',
    String.raw`for  100 credits of plan 1, "x) for 0.0001 USDC on \"base\""`,
  ])
})

test('the unit of an asset that the user has named is the asset, not what the gateway calls it', () => {
  const plan = testPlan({ display_denom: 'USDC' })
  const offer = offerOf(plan, { network: 'cosmos:a-1', asset: 'uatom', decimals: 6 }, 'cosmos1')
  expect(offer).toMatch(/^0\.01 of uatom \(6 decimals\) on cosmos:a-1, /)
  expect(offer).not.toContain('USDC')
})
