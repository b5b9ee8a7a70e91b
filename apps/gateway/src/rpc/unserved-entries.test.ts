import { creditsOfUnserved } from './unserved-entries'

const weights = { dear: 5 }
const asked = (...entries: object[]) => Buffer.from(JSON.stringify(entries))
const call = (id: unknown, method = 'cheap') => ({ jsonrpc: '2.0', id, method })
const notification = { jsonrpc: '2.0', method: 'dear' }
const answered = (responses: object[], ...refused: number[]) => ({
  text: '',
  responses,
  refused: new Set(refused),
})
const response = (id: unknown) => ({ id, result: 1 })

test.each<[string, Buffer, ReturnType<typeof answered>, number]>([
  ['all answered', asked(call(1), call(2)), answered([response(1), response(2)]), 0],
  ['one refused', asked(call(1), call(2, 'dear')), answered([response(1), response(2)], 1), 5],
  [
    'one refused, in another order',
    asked(call(1), call(2, 'dear')),
    answered([response(2), response(1)], 1),
    1,
  ],
  ['the same id twice', asked(call(1), call(1, 'dear')), answered([response(1), response(1)], 1), 5],
  ['one missing', asked(call(1, 'dear'), call(2)), answered([response(2)]), 5],
  ['one error for all', asked(call(1), call(2), call(3)), answered([{ id: null, error: {} }]), 2],
  ['an id in another spelling', asked(call(1), call('2', 'dear')), answered([response(1), response(2)]), 0],
  ['a notification', asked(call(1), notification), answered([response(1)]), 0],
  ['no batch', Buffer.from('{"id":1}'), answered([response(1)], 0), 0],
])('%s: credits of what no node answered', (_, payload, batch, expected) =>
  expect(creditsOfUnserved(payload, batch, weights)).toBe(expected),
)
