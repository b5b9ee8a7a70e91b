import { UsageError } from '../exit-codes'
import { testPlan } from '../testing/plan'
import { assertKnownAsset, findAsset, parseAssets } from './known-assets'

const IBC = `ibc/${'A1'.repeat(32)}`
const FACTORY = 'factory/osmo1abc/my:token'
const USDC = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

const failureOf = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error
  }
}

test.each<[string, string, string, number]>([
  ['cosmos:cosmoshub-4/uatom:6', 'cosmos:cosmoshub-4', 'uatom', 6],
  [`cosmos:osmosis-1/${IBC}:18`, 'cosmos:osmosis-1', IBC, 18],
  [`cosmos:osmosis-1/${FACTORY}:0`, 'cosmos:osmosis-1', FACTORY, 0],
  [`eip155:1/0x${'ab'.repeat(20)}:18`, 'eip155:1', `0x${'ab'.repeat(20)}`, 18],
])('--asset %s', (text, network, asset, decimals) => {
  expect(findAsset(parseAssets([text]), { network, asset })).toEqual({ network, asset, decimals })
})

test.each([
  '',
  'uatom:6',
  'cosmos:cosmoshub-4/uatom',
  'cosmos:cosmoshub-4/uatom:',
  'cosmos:cosmoshub-4/uatom:37',
  'cosmos:cosmoshub-4/uatom:1e1',
  'cosmos:cosmoshub-4/u atom:6',
  'eip155:1/uatom:6',
  'eip155:1/0xabc:6',
  'cosmoshub-4/uatom:6',
])('--asset %j is wrong usage', (text) => {
  expect(() => parseAssets([text])).toThrow(UsageError)
})

test('an entry that is no asset is named, without what looks like a key', () => {
  const key = 'ab'.repeat(32)
  expect(() => parseAssets(['cosmos:a-1/uatom:6', 'uatom'])).toThrow(
    '"uatom" is no asset: --asset (TOLLGATE_ASSETS)',
  )
  expect(() => parseAssets([key])).toThrow('"[secret]" is no asset')
})

test('what is known cannot be named with other decimals', () => {
  expect(() => parseAssets([`eip155:84532/${USDC.toLowerCase()}:18`])).toThrow('6 decimals')
  expect(() => parseAssets(['cosmos:a-1/uatom:6', 'cosmos:a-1/uatom:8'])).toThrow('6 decimals')
  expect(parseAssets([`eip155:84532/${USDC.toLowerCase()}:6`])).toEqual(parseAssets([]))
})

describe('a plan is paid', () => {
  const atom = testPlan({ id: 2, ecosystem: 'cosmos', chain_id: 'cosmoshub-4', asset_address: 'uatom' })

  test('in a stablecoin, whatever the letter case of its address', () => {
    const plan = testPlan({ asset_address: USDC.toLowerCase(), display_denom: 'GOLD' })
    expect(assertKnownAsset(plan, parseAssets([]))).toEqual({
      ...{ network: 'eip155:84532', asset: USDC, symbol: 'USDC', decimals: 6 },
    })
  })

  test('in an asset that the user names', () => {
    expect(assertKnownAsset(atom, parseAssets(['cosmos:cosmoshub-4/uatom:6']))).toMatchObject({ decimals: 6 })
  })

  test('in no other one: the refusal has the option to give', () => {
    expect(failureOf(() => assertKnownAsset(atom, parseAssets([])))).toMatchObject({
      ...{ code: 'ASSET_UNKNOWN', exitCode: 2 },
      advice: expect.stringContaining('--asset cosmos:cosmoshub-4/uatom:6 ') as string,
    })
    expect(
      failureOf(() => assertKnownAsset(atom, parseAssets(['cosmos:cosmoshub-4/UATOM:6']))),
    ).toMatchObject({ code: 'ASSET_UNKNOWN' })
    expect(
      failureOf(() =>
        assertKnownAsset({ ...atom, chain_id: 'other-1' }, parseAssets(['cosmos:cosmoshub-4/uatom:6'])),
      ),
    ).toMatchObject({ code: 'ASSET_UNKNOWN' })
  })

  test('on no terms with other decimals', () => {
    expect(failureOf(() => assertKnownAsset(testPlan({ decimals: 18 }), parseAssets([])))).toMatchObject({
      ...{ code: 'ASSET_MISMATCH', exitCode: 1 },
    })
    const known = parseAssets(['cosmos:cosmoshub-4/uatom:6'])
    expect(failureOf(() => assertKnownAsset({ ...atom, decimals: 0 }, known))).toMatchObject({
      code: 'ASSET_MISMATCH',
    })
  })

  test('a refusal offers no text of the gateway for a shell that is not an asset', () => {
    const plan = testPlan({ ecosystem: 'cosmos', chain_id: 'a-1', asset_address: 'uatom;$(reboot)' })
    expect(failureOf(() => assertKnownAsset(plan, parseAssets([])))).toMatchObject({
      advice: expect.not.stringContaining('reboot') as string,
    })
  })
})
