import { FacilitatorError } from '@tollgate/facilitator-client'
import { type FoundSettlement } from '@tollgate/protocol'
import { readableLog } from '../testing/log'
import { createSettlementLookup } from './settlement-lookup'

const reference = { network: 'base-sepolia', asset: '0xusdc', payer: '0xpayer', nonce: '0x1' }
const settlement: FoundSettlement = {
  state: 'pending',
  reason: null,
  transaction: null,
  block: null,
  confirmations: null,
  requiredConfirmations: 1,
  transactions: [],
}

function lookupAt(findSettlement: () => Promise<FoundSettlement | undefined>) {
  const asked = { times: 0 }
  const facilitator = {
    findSettlement() {
      asked.times++
      return findSettlement()
    },
  }
  const { logger } = readableLog()
  return { asked, find: createSettlementLookup({ facilitator, logger }) }
}

test('requests for one payment within a second share one question', async () => {
  const { asked, find } = lookupAt(() => Promise.resolve(settlement))
  const answers = await Promise.all([1, 2, 3].map(() => find('a', reference)))
  expect(answers).toEqual([settlement, settlement, settlement])
  expect(await find('a', reference)).toBe(settlement)
  expect(asked.times).toBe(1)
  await find('b', reference)
  expect(asked.times).toBe(2)
})

test.each([
  ['away', new FacilitatorError('unknown', 'It is away')],
  ['older', new FacilitatorError('unknown', 'No such path', 404, 'NOT_FOUND')],
  ['refusing the scope of the key', new FacilitatorError('unauthorized', 'No', 403, 'FORBIDDEN')],
  ['broken', new Error('a defect')],
])('a facilitator that is %s tells nothing, and is not asked again at once', async (_, error) => {
  const { asked, find } = lookupAt(() => Promise.reject(error))
  expect(await find('a', reference)).toBeUndefined()
  expect(await find('b', reference)).toBeUndefined()
  expect(asked.times).toBe(1)
})

test('at most 16 questions are open at once', async () => {
  let answer: (found: FoundSettlement) => void = () => undefined
  const open = new Promise<FoundSettlement>((resolve) => (answer = resolve))
  const { asked, find } = lookupAt(() => open)
  const waiting = Array.from({ length: 16 }, (_unused, index) => find(`${index}`, reference))
  expect(await find('one more', reference)).toBeUndefined()
  answer(settlement)
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => settlement))
  expect(await find('one more', reference)).toBe(settlement)
  expect(asked.times).toBe(17)
})
