import { TollgateError } from '../errors'
import { type StoredPayment } from '../payments/payment-log'
import { createAssertMaySend } from './may-send'
import { type PaymentRecord } from './wire'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const MINUTE_MS = 60_000
const refusal = new TollgateError('LIMIT_REACHED', 'signed earlier')

type Given = { statuses?: string[]; isAllowed?: boolean; secondsLeft?: number; behindMs?: number }

/** `statuses`: of the gateway's record, as it says one after the other; `behindMs`: its clock, to the one here. */
function setUp({ statuses = [], isAllowed = false, secondsLeft = 300, behindMs = 0 }: Given) {
  const said = [...statuses]
  const announce = jest.fn()
  const assertMaySend = createAssertMaySend({
    gateway: {
      payments: () => {
        const status = said.length > 1 ? said.shift() : said[0]
        const other = { nonce: '2', status: 'credited' }
        const data = [other, ...(status === undefined ? [] : [{ nonce: '1', status }])]
        return Promise.resolve({ data: data as PaymentRecord[], pagination: { total: data.length } })
      },
    },
    findRefusal: () => Promise.resolve(isAllowed ? undefined : () => refusal),
    now: () => NOW,
    closed: new AbortController().signal,
  })
  const payment = { payer: '0x1', nonce: '1', validUntil: NOW / 1000 + secondsLeft } as StoredPayment
  const serverTime = () => Promise.resolve(NOW - behindMs)
  const asked = assertMaySend(payment, { serverTime, announce, signal: undefined }).catch(
    (error: unknown) => error,
  )
  return { asked, announce }
}

beforeEach(() => jest.useFakeTimers())
afterEach(() => jest.useRealTimers())

test.each<[string, Given, TollgateError | undefined]>([
  ['within the limits', { isAllowed: true }, undefined],
  ['the gateway does not know', {}, refusal],
  ['the gateway refused', { statuses: ['failed'] }, refusal],
  ['is settled', { statuses: ['settled'] }, undefined],
  ['bought credits', { statuses: ['credited'] }, undefined],
  ['an operator has to decide', { statuses: ['disputed'] }, undefined],
  ['is on its way and then settles', { statuses: ['received', 'settling', 'credited'] }, undefined],
  ['is on its way and is then refused', { statuses: ['settling', 'failed'] }, refusal],
  ['has expired', { secondsLeft: -61 }, undefined],
  ['has expired by the clock here only', { secondsLeft: -61, behindMs: 5 * MINUTE_MS }, refusal],
  ['has a status of a newer gateway', { statuses: ['parked'] }, refusal],
])('a payment that %s', async (_name, given, expected) => {
  const { asked, announce } = setUp(given)
  await jest.advanceTimersByTimeAsync(10_000)
  expect(await asked).toBe(expected)
  expect(announce.mock.calls.length > 0).toBe((given.statuses?.length ?? 0) > 1)
})
