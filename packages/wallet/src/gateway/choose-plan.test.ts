import { choosePlan } from './choose-plan'
import { type Plan } from './wire'

const plan = (id: number, more: Partial<Plan> = {}): Plan => ({
  id,
  plan_name: `Plan ${id}`,
  chain_id: '84532',
  network: 'base-sepolia',
  ecosystem: 'evm',
  asset_address: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '10000',
  decimals: 6,
  display_denom: 'USDC',
  credits: 100,
  pay_to: '0x941b84B0EFa6B0De50C626dD1c5870441344F361',
  price_per_credit: '0.0001',
  calls: [],
  ...more,
})
const cosmos = plan(1, { ecosystem: 'cosmos', chain_id: 'cosmoshub-4', asset_address: 'uatom' })
const dear = plan(2, { amount: '5000000' })
const plans = [cosmos, dear, plan(3), plan(4)]
const limits = {
  assets: [{ network: 'eip155:84532', asset: dear.asset_address.toLowerCase(), perPayment: 10_000n }],
}
const wish = { id: undefined, ecosystem: 'evm', limits: undefined, balances: [] } as const
const left = (id: number, credits: number) => [{ pricing_plan_id: id, remaining_credits: credits }]

test.each([
  ['the one asked for', { ...wish, id: 4 }, 4],
  ['the first of the wallet’s ecosystem', wish, 2],
  ['one within the limits', { ...wish, limits }, 3],
  ['one with credits left', { ...wish, limits, balances: left(4, 1) }, 4],
  ['none whose credits are used up', { ...wish, limits, balances: left(4, 0) }, 3],
  ['none whose credits did not suffice', { ...wish, limits, balances: left(4, 1), tried: new Set([4]) }, 3],
  ['one of its own ecosystem', { ...wish, ecosystem: 'cosmos', balances: left(3, 5) }, 1],
] as const)('chooses %s', (_name, given, id) => {
  expect(choosePlan(plans, { ...given, balances: [...given.balances] }).id).toBe(id)
})

test('names the plans that are sold when there is none to choose', () => {
  expect(() => choosePlan(plans, { ...wish, id: 9, balances: [] })).toThrow(/no plan 9; it sells 1 \(Plan 1/)
  expect(() => choosePlan([cosmos], { ...wish, balances: [] })).toThrow('sells no plan for evm wallets')
})
