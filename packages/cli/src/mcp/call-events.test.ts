import { TollgateError, type Tollgate } from '@tollgate/wallet'
import { createCallEvents, type Payment } from './call-events'
import { journalPayments } from './payment-journal'
import { type PaymentEntry } from './payment-entry'
import { ToolError } from './failure'

const payment = (changes: Partial<Payment> = {}): Payment => ({
  ...{ url: 'https://shop.example/', network: 'eip155:1', asset: '0xa', payTo: '0xb', amount: 5n },
  ...changes,
})
const context = { signal: new AbortController().signal, progressToken: undefined, notifyProgress: () => {} }

const format = (amount: bigint | string) => `${amount} units`

/** Its events, and no payments. */
function fakeTollgate() {
  const listeners = new Map<string, ((event: unknown) => void)[]>()
  const on = (name: string, listener: (event: never) => void) => {
    listeners.set(name, [...(listeners.get(name) ?? []), listener as (event: unknown) => void])
    return () => undefined
  }
  return {
    tollgate: { url: 'https://gateway.example', on } as unknown as Tollgate,
    emit: (name: string, event: unknown) => listeners.get(name)?.forEach((listener) => listener(event)),
  }
}

function open() {
  const { tollgate, emit } = fakeTollgate()
  const follow = createCallEvents(tollgate, format)
  const logged: PaymentEntry[] = []
  journalPayments(tollgate, [(entry) => logged.push(entry)], { now: () => new Date(), format })
  return { follow, emit, logged }
}

test('a payment that was sent and has no outcome is in the result and in the log', async () => {
  const { follow, emit, logged } = open()
  const { paid, sent } = await follow(context, async (payments) => {
    emit('payment-required', payment())
    emit('pending', payment())
    emit('pending', payment())
    return Promise.resolve({ ...payments })
  })
  expect([paid, sent]).toEqual([[], [payment()]])
  expect(logged.map(({ event }) => event)).toEqual(['pending', 'pending'])
})

test('a payment that was paid in the end is not among those without an outcome', async () => {
  const { follow, emit } = open()
  const { paid, sent } = await follow(context, async (payments) => {
    emit('pending', payment())
    emit('pending', payment({ url: 'https://other.example/' }))
    emit('paid', { ...payment(), transaction: '' })
    return Promise.resolve({ ...payments })
  })
  expect([paid, sent]).toMatchObject([[payment()], [payment({ url: 'https://other.example/' })]])
})

test('an error of a call names what it has paid and sent', async () => {
  const { follow, emit } = open()
  const failed = follow(context, () => {
    emit('pending', payment())
    return Promise.reject(new ToolError('A', 'b', 'c', { d: 1 }))
  })
  await expect(failed).rejects.toMatchObject({
    failure: { code: 'A', details: { d: 1, sent: [{ price: '5 units', amount: '5', recipient: '0xb' }] } },
  })
  const other = new ToolError('A', 'b', 'c')
  await expect(follow(context, () => Promise.reject(other))).rejects.toBe(other)
})

test('an error of the limits says what was asked for, with its unit', async () => {
  const { follow } = open()
  const details = { ...payment(), limit: 'perDay' }
  const failed = follow(context, () =>
    Promise.reject(new TollgateError('LIMIT_REACHED', 'too much', { details })),
  )
  await expect(failed).rejects.toMatchObject({
    failure: { code: 'LIMIT_REACHED', details: { price: '5 units', amount: '5', limit: 'perDay' } },
  })
})

test('other calls have no part in it', async () => {
  const { follow, emit } = open()
  const [mine, other] = await Promise.all([
    follow(context, async (payments) => {
      await Promise.resolve()
      emit('pending', payment())
      return { ...payments }
    }),
    follow(context, async (payments) => {
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve()
      return { ...payments }
    }),
  ])
  expect([mine.sent.length, other.sent.length]).toEqual([1, 0])
})
