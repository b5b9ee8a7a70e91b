import { assertLimits, findBreach, type Limits } from './limits'

const asset = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'
const shop = '0x941b84B0EFa6B0De50C626dD1c5870441344F361'
const payment = { network: 'eip155:84532', asset, payTo: shop, amount: 100n }
const nothing = { today: 0n, inSession: 0n }
const limit = { network: 'eip155:84532', asset, perPayment: 100n }
const limits = (more: Partial<Limits['assets'][number]> = {}, recipients?: string[]): Limits => ({
  assets: [{ ...limit, ...more }],
  ...(recipients ? { recipients } : {}),
})

test.each([
  ['a payment of exactly the limit', limits(), payment, nothing, undefined],
  ['one unit more', limits(), { ...payment, amount: 101n }, nothing, 'perPayment'],
  ['another asset', limits({ asset: shop }), payment, nothing, 'assets'],
  ['the same asset in other letters', limits({ asset: asset.toLowerCase() }), payment, nothing, undefined],
  ['another network', limits({ network: 'eip155:8453' }), payment, nothing, 'assets'],
  ['no asset at all', { assets: [] }, payment, nothing, 'assets'],
  ['another recipient', limits({}, [asset]), payment, nothing, 'recipients'],
  [
    'the recipient in other letters',
    limits({}, [shop.toUpperCase().replace('X', 'x')]),
    payment,
    nothing,
    undefined,
  ],
  ['the rest of the day', limits({ perDay: '300' }), payment, { today: 200n, inSession: 0n }, undefined],
  [
    'more than the rest of the day',
    limits({ perDay: '300' }),
    payment,
    { today: 201n, inSession: 0n },
    'perDay',
  ],
  [
    'more than the session may',
    limits({ perSession: 100n }),
    payment,
    { today: 1n, inSession: 1n },
    'perSession',
  ],
  ['a limit of zero', limits({ perPayment: '0' }), payment, nothing, 'perPayment'],
  [
    'denominations that differ in letters',
    limits({ asset: 'uAtom' }),
    { ...payment, asset: 'uatom' },
    nothing,
    'assets',
  ],
] as const)('%s', (_name, given, proposed, spent, breach) => {
  expect(findBreach(given, proposed, spent)?.limit).toBe(breach)
})

test('says what was spent before, with the symbol', () => {
  const usdc = { network: 'eip155:84532', asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e' }
  const given = { assets: [{ ...usdc, perPayment: '0.01 USDC', perDay: '0.02 USDC' }] }
  assertLimits(given)
  const breach = findBreach(given, { ...usdc, amount: 10_000n }, { today: 15_000n, inSession: 0n })
  expect(breach?.message).toBe(
    'A payment of 0.01 USDC, after 0.015 USDC before, exceeds the limit perDay of 0.02 USDC',
  )
  expect(findBreach(given, { ...usdc, amount: 10_001n }, { today: 0n, inSession: 0n })?.limit).toBe(
    'perPayment',
  )
})

test('refuses an amount with a symbol of an asset that is not known', () => {
  const given = { assets: [{ network: 'cosmos:cosmoshub-4', asset: 'uatom', perPayment: '1 ATOM' }] }
  expect(() => assertLimits(given)).toThrow('limits.assets[0].perPayment: must be smallest units')
})

test.each([['-1'], ['0.5'], ['1e6'], [' 5 '], ['0x10'], [''], ['٣']])(
  'refuses %j as an amount',
  (perPayment) => {
    expect(() => assertLimits(limits({ perPayment }))).toThrow('limits.assets[0].perPayment')
  },
)

test('counts a fee, which has no recipient, as a payment', () => {
  const fee = { network: 'cosmos:hub', asset: 'uatom', amount: 10n }
  const given = {
    assets: [{ ...limit, network: 'cosmos:hub', asset: 'uatom', perDay: 50n }],
    recipients: [shop],
  }
  expect(findBreach(given, fee, { today: 40n, inSession: 0n })).toBeUndefined()
  expect(findBreach(given, fee, { today: 41n, inSession: 0n })?.limit).toBe('perDay')
})

test.each<[string, unknown, string]>([
  ['no list of assets', {}, 'limits.assets'],
  ['no object', true, 'limits'],
  ['a member that is not known', { assets: [{ ...limit, perWeek: 1n }] }, 'limits.assets[0].perWeek'],
  ['another member of all', { assets: [], recipient: shop }, 'limits.recipient'],
  [
    'a network without its namespace',
    { assets: [{ ...limit, network: '84532' }] },
    'limits.assets[0].network',
  ],
  [
    'an address that is cut',
    { assets: [limit, { ...limit, asset: asset.slice(1) }] },
    'limits.assets[1].asset',
  ],
  ['a recipient that is none', { assets: [], recipients: [undefined] }, 'limits.recipients[0]'],
  ['no callback', { assets: [], approve: true }, 'limits.approve'],
])('refuses %s, and names it', (_name, given, place) => {
  expect(() => assertLimits(given)).toThrow(new RegExp(`^${place.replaceAll(/[[\]]/g, '\\$&')}: `))
})

test('refuses a number, which may have lost digits', () => {
  expect(() => assertLimits(limits({ perDay: 0.1 as unknown as string }))).toThrow('limits.assets[0].perDay')
})
