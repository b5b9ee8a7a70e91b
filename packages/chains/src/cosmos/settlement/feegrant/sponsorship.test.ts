import type { PendingPayment } from '../../../family'
import type { CosmosPayment } from '../../transfer-methods/bank-send/payment'
import { batches } from './sponsorship'

const pending = (payer: string, isAlone = false) =>
  ({ payment: { payer }, isAlone, isBehind: false }) as PendingPayment<CosmosPayment>
const many = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => pending(`payer ${from + i}`))

describe('payments that wait for an allowance', () => {
  test('share transactions by twenty, in the order given', () => {
    const all = many(41)
    expect(batches(all).map(({ length }) => length)).toEqual([20, 20, 1])
    expect(batches(all).flat()).toEqual(all)
    expect(batches([])).toEqual([])
  })

  test('go alone where one went wrong before', () => {
    const [one, two, three] = many(3)
    const alone = pending('alone', true)
    expect(batches([one!, alone, two!, three!])).toEqual([[one, two, three], [alone]])
  })

  test('are in no batch behind another of their payer, who can have one allowance at a time', () => {
    const [first, second, other] = [pending('same'), pending('same', true), pending('other')]
    expect(batches([first, second, other])).toEqual([[first, other]])
  })
})
