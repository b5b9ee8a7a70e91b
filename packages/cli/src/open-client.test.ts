import { UsageError } from './exit-codes'
import { assetOf, candidates, folderOf, parseNodes, parsePlan, toLimit } from './open-client'
import { testPlan } from './testing/plan'

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
  test('are in the one asset that the plans have', () => {
    expect(assetOf([testPlan(), large]).id).toBe(1)
  })

  test('need a plan where plans have several assets', () => {
    expect(() => assetOf([testPlan(), euro])).toThrow(
      '--plan, one of 1 (USDC on base-sepolia), 3 (EURC on base-sepolia)',
    )
    expect(() => assetOf([])).toThrow(UsageError)
  })

  test('are exact', () => {
    expect(toLimit(testPlan(), { maxPayment: '0.05', maxDay: '1' })).toEqual({
      network: 'eip155:84532',
      asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
      perPayment: 50_000n,
      perDay: 1_000_000n,
    })
  })

  test.each(['0.0000001', 'all', '-1', '1 USDC'])('of %s are wrong usage', (maxPayment) => {
    expect(() => toLimit(testPlan(), { maxPayment, maxDay: undefined })).toThrow(UsageError)
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
