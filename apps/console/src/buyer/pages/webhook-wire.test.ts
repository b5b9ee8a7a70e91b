import { fromWire, toWire } from './webhook-wire'

test('members are renamed at every depth, and back', () => {
  const wire = { created_at: '1', log: [{ duration_ms: 2, error: null }], events: ['credits.low'] }
  expect(fromWire(wire)).toEqual({
    createdAt: '1',
    log: [{ durationMs: 2, error: null }],
    events: ['credits.low'],
  })
  expect(toWire(fromWire(wire))).toEqual(wire)
})

test('the payload of an event is shown as it was sent', () => {
  expect(fromWire({ payload: { pay_to: 'x', data: [] } })).toEqual({ payload: { pay_to: 'x', data: [] } })
})

test('a list is without its envelope, a page of deliveries keeps its cursor', () => {
  expect(fromWire({ data: [{ created_at: '1' }] })).toEqual([{ createdAt: '1' }])
  expect(fromWire({ data: [{ message_id: 'm' }], next: null })).toEqual({
    deliveries: [{ messageId: 'm' }],
    next: null,
  })
})
