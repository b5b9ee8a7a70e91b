import { memoryStorage, type Plan, type ProposedPayment } from '@tollgate/wallet'
import { UsageError } from './exit-codes'
import {
  assertOneAsset,
  candidates,
  folderOf,
  parseNodes,
  parsePlan,
  payWithinLimits,
  toLimit,
  type ClientOptions,
} from './open-client'
import { testPlan } from './testing/plan'
import { type OpenWallet } from './wallets/open-wallet'

const cosmos = testPlan({ id: 2, ecosystem: 'cosmos', chain_id: 'cosmoshub-4', asset_address: 'uatom' })
const euro = testPlan({ id: 3, asset_address: `0x${'e'.repeat(40)}`, display_denom: 'EURC' })
const large = testPlan({ id: 4, asset_address: testPlan().asset_address.toLowerCase(), amount: '1000000' })

describe('plans', () => {
  test.each<[number | undefined, string, number[]]>([
    [undefined, 'evm', [1, 3]],
    [undefined, 'cosmos', [2]],
    [2, 'evm', [2]],
  ])('plan %s for %s wallets', (id, ecosystem, expected) => {
    expect(candidates([testPlan(), cosmos, euro], { id, ecosystem }).map((plan) => plan.id)).toEqual(expected)
  })

  test('that are not sold are wrong usage', () => {
    expect(() => candidates([testPlan()], { id: 9, ecosystem: 'evm' })).toThrow(UsageError)
  })

  test.each(['0', '-1', '1.5', 'starter', ''])('%j is no number of a plan', (text) => {
    expect(() => parsePlan(text)).toThrow(UsageError)
  })
})

describe('limits', () => {
  const usdc = { network: 'eip155:84532', asset: testPlan().asset_address, symbol: 'USDC', decimals: 6 }

  test('need a plan where plans have several assets', () => {
    expect(() => assertOneAsset([testPlan(), large])).not.toThrow()
    expect(() => assertOneAsset([testPlan(), euro])).toThrow(
      '--plan, one of 1 (USDC on base-sepolia), 3 (EURC on base-sepolia)',
    )
    expect(() => assertOneAsset([])).toThrow(UsageError)
  })

  test('are exact', () => {
    expect(toLimit(usdc, { maxPayment: '0.05', maxDay: '1' })).toEqual({
      network: 'eip155:84532',
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      perPayment: 50_000n,
      perDay: 1_000_000n,
    })
  })

  test('may have the symbol of the asset', () => {
    const limit = toLimit(usdc, { maxPayment: '0.05 USDC', maxDay: '1 USDC' })
    expect(limit).toMatchObject({ perPayment: 50_000n, perDay: 1_000_000n })
  })

  test.each(['0.0000001', 'all', '-1', '1 EURC', '1USDC', '1 USDC more', 'USDC'])(
    'of %s are wrong usage',
    (maxPayment) => {
      expect(() => toLimit(usdc, { maxPayment, maxDay: undefined })).toThrow(UsageError)
    },
  )

  describe('of a command that pays by itself', () => {
    let storage = memoryStorage()
    beforeEach(() => void (storage = memoryStorage()))
    const decide = (options: ClientOptions, ...plans: Plan[]) =>
      payWithinLimits(options)({
        wallet: { ecosystem: plans[0]?.ecosystem ?? 'evm', address: '0xab' } as OpenWallet,
        plans: () => Promise.resolve(plans),
        storage,
        url: 'https://gateway.example',
      })
    const limits = { maxPayment: '0.05', maxDay: '1' }

    test('are in decimals that the gateway does not choose', async () => {
      expect(await decide(limits, testPlan())).toEqual({
        limits: { assets: [toLimit(usdc, limits)], approve: expect.any(Function) as unknown },
      })
      await expect(decide(limits, testPlan({ decimals: 18 }))).rejects.toMatchObject({
        code: 'ASSET_MISMATCH',
      })
      await expect(decide(limits, testPlan(), testPlan({ id: 5, decimals: 18 }))).rejects.toMatchObject({
        code: 'ASSET_MISMATCH',
      })
    })

    test('are in no asset that the user has not named', async () => {
      await expect(decide(limits, cosmos)).rejects.toMatchObject({ code: 'ASSET_UNKNOWN' })
      const asset = ['cosmos:cosmoshub-4/uatom:6']
      expect(await decide({ ...limits, asset }, cosmos)).toMatchObject({
        limits: { assets: [{ network: 'cosmos:cosmoshub-4', asset: 'uatom', perPayment: 50_000n }] },
      })
    })

    test('are in the asset that was paid before, unless the user names another one', async () => {
      const mainnet = testPlan({
        chain_id: '8453',
        asset_address: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
      })
      const { limits: first } = await decide(limits, testPlan())
      expect(await decide(limits, mainnet)).toMatchObject({
        limits: { assets: [{ network: 'eip155:8453' }] },
      })
      expect(await first?.approve?.({} as ProposedPayment)).toBe(true)
      await expect(decide(limits, mainnet)).rejects.toMatchObject({ code: 'ASSET_CHANGED', exitCode: 2 })
      expect(await decide(limits, testPlan())).toMatchObject({
        limits: { assets: [{ network: usdc.network }] },
      })
      const asset = [`eip155:8453/${mainnet.asset_address}:6`]
      expect(await decide({ ...limits, asset }, mainnet)).toMatchObject({
        limits: { assets: [{ network: 'eip155:8453' }] },
      })
    })

    test('allow nothing if there are none, and must be complete', async () => {
      expect(await decide({}, cosmos)).toEqual({ limits: undefined })
      await expect(decide({ maxDay: '1' }, testPlan())).rejects.toThrow('--max-day needs --max-payment')
    })
  })
})

test.each<[string | undefined, Record<string, string>, string]>([
  ['/elsewhere', { XDG_STATE_HOME: '/state' }, '/elsewhere'],
  [undefined, { XDG_STATE_HOME: '/state' }, '/state/tollgate'],
])('the folder %s with %j', (folder, environment, expected) => {
  expect(folderOf(folder === undefined ? {} : { folder }, environment)).toBe(expected)
})

test.each([{}, { XDG_STATE_HOME: '' }, { XDG_STATE_HOME: 'relative' }])(
  'with %j the folder is in the home',
  (environment) => {
    expect(folderOf({}, environment)).toMatch(/\/\.local\/state\/tollgate$/)
  },
)

test('nodes are named by chain', () => {
  expect(parseNodes(['cosmoshub-4=https://rpc.example/?a=b', '1=http://127.0.0.1:8545'])).toEqual({
    'cosmoshub-4': 'https://rpc.example/?a=b',
    '1': 'http://127.0.0.1:8545',
  })
})

test.each(['https://rpc.example', '=https://rpc.example', '1=', '1=ftp://a', '1=rpc.example'])(
  '%s names no node',
  (text) => {
    expect(() => parseNodes([text])).toThrow(UsageError)
  },
)
