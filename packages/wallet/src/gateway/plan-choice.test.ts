import { type GatewayClient } from './gateway-client'
import { createPlanChoice } from './plan-choice'
import { type Plan } from './wire'

const [cheap, dear] = [1, 2].map(
  (id) => ({ id, ecosystem: 'evm', chain_id: '1', asset_address: 'usdc' }) as Plan,
)
const plans = [
  { ...dear!, amount: '900' },
  { ...cheap!, amount: '5' },
]
const limits = { assets: [{ network: 'eip155:1', asset: 'usdc', perPayment: 5n }] }

type Given = { id?: number; credits: Record<number, number>; address?: () => Promise<string> }

function setUp({ id, credits, address }: Given) {
  const asked = { plans: 0 }
  const gateway = {
    plans: () => Promise.resolve((asked.plans++, plans)),
    credits: () =>
      Promise.resolve(
        Object.entries(credits).map(([plan, left]) => ({
          pricing_plan_id: Number(plan),
          remaining_credits: left,
        })),
      ),
  } as unknown as GatewayClient
  const wallet = { ecosystem: 'evm', address: address ?? (() => Promise.resolve('0x01')) } as never
  return { choice: createPlanChoice({ gateway, wallet, limits, id }), credits, asked }
}

const idOf = ({ id }: Plan) => id

test('spends the credits of a plan that is too dear to buy, and then turns to one within the limits', async () => {
  const { choice, credits } = setUp({ credits: { 2: 7 } })
  expect(idOf(await choice.find())).toBe(2)
  expect(idOf(await choice.findOther(new Set([2])))).toBe(1)
  credits[2] = 0
  expect(idOf(await choice.find())).toBe(1)
  expect(idOf(await choice.findOther(new Set([1])))).toBe(1)
})

test('turns to another plan only once, when many calls find the credits used up', async () => {
  const { choice, asked } = setUp({ credits: { 2: 7 } })
  await choice.find()
  const found = await Promise.all(Array.from({ length: 100 }, () => choice.findOther(new Set([2]))))
  expect([new Set(found.map(idOf)), asked.plans]).toEqual([new Set([1]), 2])
  expect(idOf(await choice.findOther(new Set([2])))).toBe(1)
  expect(asked.plans).toBe(2)
})

test('stays with the plan that was asked for', async () => {
  const { choice } = setUp({ id: 2, credits: { 1: 5 } })
  expect(idOf(await choice.find())).toBe(2)
  expect(idOf(await choice.findOther(new Set([2])))).toBe(2)
})

test('buys on the plan whose credits it spends, unless that is too dear', async () => {
  const dear = setUp({ credits: { 2: 7 } })
  expect(idOf(await dear.choice.find())).toBe(2)
  expect(idOf(await dear.choice.findToBuy())).toBe(1)
  expect(idOf(await dear.choice.find())).toBe(2)
  expect(idOf(await setUp({ credits: { 1: 7 } }).choice.findToBuy())).toBe(1)
  expect(idOf(await setUp({ id: 2, credits: {} }).choice.findToBuy())).toBe(2)
})

test('asks the gateway for nothing before the wallet has named its account', async () => {
  const { choice, asked } = setUp({ credits: {}, address: () => new Promise(() => undefined) })
  void choice.find()
  await new Promise(setImmediate)
  expect(asked.plans).toBe(0)
})
