import { camelCased, snakeCased } from './member-names'

test('members are renamed at every depth, and back', () => {
  const wire = { created_at: '1', log: [{ duration_ms: 2, error: null }], events: ['credits.low'] }
  expect(camelCased(wire)).toEqual({
    createdAt: '1',
    log: [{ durationMs: 2, error: null }],
    events: ['credits.low'],
  })
  expect(snakeCased(camelCased(wire))).toEqual(wire)
})

test('the payload of an event is shown as it was sent', () => {
  expect(camelCased({ payload: { pay_to: 'x' } })).toEqual({ payload: { pay_to: 'x' } })
})
