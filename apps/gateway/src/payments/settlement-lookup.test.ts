import { FacilitatorError } from '@tollgate/facilitator-client'
import { type SettlementDetails } from '@tollgate/protocol'
import { readableLog } from '../testing/log'
import { settlementOf } from '../testing/settlement'
import { createSettlementLookup } from './settlement-lookup'

const reference = { network: 'base-sepolia', asset: '0xusdc', payer: '0xpayer', nonce: '0x1' }
const settlement = settlementOf()

function lookupAt(get: () => Promise<SettlementDetails | undefined>) {
  const asked: object[] = []
  const settlements = {
    list(query: object = {}) {
      asked.push(query)
      return Promise.resolve({ settlements: [settlement], next: null })
    },
    get,
  }
  const { logger } = readableLog()
  return { asked, find: createSettlementLookup({ settlements, logger }) }
}

test('requests for one payment within a second share one question', async () => {
  const { asked, find } = lookupAt(() => Promise.resolve(settlement))
  const answers = await Promise.all([1, 2, 3].map(() => find('a', reference)))
  expect(answers).toEqual([settlement, settlement, settlement])
  expect(asked).toEqual([{ ...reference, limit: 1 }])
  await find('b', reference)
  expect(asked).toHaveLength(2)
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
  expect(asked).toHaveLength(1)
})

test('a silent facilitator is waited for only so long, and is not asked again at once', async () => {
  const { asked, find } = lookupAt(() => new Promise(() => undefined))
  expect(await find('a', reference)).toBeUndefined()
  expect(await find('b', reference)).toBeUndefined()
  expect(asked).toHaveLength(1)
})

test('at most 16 questions are open at once', async () => {
  let answer: (found: SettlementDetails) => void = () => undefined
  const open = new Promise<SettlementDetails>((resolve) => (answer = resolve))
  const { asked, find } = lookupAt(() => open)
  const waiting = Array.from({ length: 16 }, (_unused, index) => find(`${index}`, reference))
  expect(await find('one more', reference)).toBeUndefined()
  answer(settlement)
  expect(await Promise.all(waiting)).toEqual(waiting.map(() => settlement))
  expect(await find('one more', reference)).toBe(settlement)
  expect(asked).toHaveLength(17)
})
