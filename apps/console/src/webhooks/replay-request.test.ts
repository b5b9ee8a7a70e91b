import { toReplayRequest } from './replay-request'

test('times are sent with their offset, and only what the reader chose', () => {
  const from = new Date(2026, 0, 31, 12, 30)
  expect(toReplayRequest({ from: '2026-01-31T12:30', to: '', state: 'failed' })).toEqual({
    from: from.toISOString(),
    state: 'failed',
  })
  expect(toReplayRequest({ from: '2026-01-31T12:30', to: '2026-01-31T12:30', state: 'ended' })).toEqual({
    from: from.toISOString(),
    to: from.toISOString(),
  })
})
