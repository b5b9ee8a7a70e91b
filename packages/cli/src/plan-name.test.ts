import { type Plan } from '@tollgate/wallet'
import { planName } from './plan-name'

test.each([
  ['starter', 1],
  ['(free)', 0],
  ['(no longer sold)', 2],
])('the name %s is that of plan %d', (name, id) => {
  expect(planName([{ id: 1, plan_name: 'starter' } as Plan], id)).toBe(name)
})
