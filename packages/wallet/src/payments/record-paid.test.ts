import { createEvents } from '../events'
import { type PaymentLog, type StoredPayment } from './payment-log'
import { createRecordPaid } from './record-paid'

const payment = {
  id: 'a',
  amount: '100',
  network: 'eip155:1',
  asset: '0x01',
  payTo: '0x02',
  url: 'x',
} as StoredPayment

afterEach(() => jest.useRealTimers())

function setUp(end: () => Promise<StoredPayment>) {
  const closing = new AbortController()
  const events = createEvents()
  const paid: string[] = []
  events.on('paid', ({ transaction }) => paid.push(transaction))
  const log = { end } as unknown as PaymentLog
  return { closing, paid, record: createRecordPaid({ log, events, closed: closing.signal }) }
}

test.each<[string, () => Promise<StoredPayment>]>([
  ['stored', () => Promise.resolve(payment)],
  ['not stored, as the disk is full', () => Promise.reject(new Error('ENOSPC'))],
])('a payment is reported as paid when it is %s', async (_name, end) => {
  const { record, paid } = setUp(end)
  await record(payment, '0xaa')
  expect(paid).toEqual(['0xaa'])
})

test('a storage that does not answer is waited for only so long, and not after close()', async () => {
  const never = () => new Promise<never>(() => undefined)
  const closed = setUp(never)
  closed.closing.abort()
  await closed.record(payment, '0xaa')
  expect(closed.paid).toEqual(['0xaa'])

  jest.useFakeTimers()
  const slow = setUp(never)
  const recorded = slow.record(payment, '0xbb')
  await jest.advanceTimersByTimeAsync(4_999)
  expect(slow.paid).toEqual([])
  await jest.advanceTimersByTimeAsync(1)
  await recorded
  expect(slow.paid).toEqual(['0xbb'])
})
