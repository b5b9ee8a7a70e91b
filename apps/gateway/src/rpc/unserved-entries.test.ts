import { creditsOfUnserved } from './unserved-entries'

const weights = { dear: 5 }
const asked = (...entries: object[]) => Buffer.from(JSON.stringify(entries))
const call = (id: unknown, method = 'cheap') => ({ jsonrpc: '2.0', id, method })
const notification = { jsonrpc: '2.0', method: 'dear' }
const answered = (responses: object[], ...refused: number[]) => ({
  text: '',
  responses,
  refused: new Map(refused.map((place) => [place, 'rate_limit' as const])),
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
  [
    'the same id twice, of which the first is refused',
    asked(call(1, 'dear'), call(1)),
    answered([response(1), response(1)], 0),
    5,
  ],
  [
    'the same id twice, answered once: the dearer counts as answered',
    asked(call(1), call(1, 'dear')),
    answered([response(1)]),
    1,
  ],
  [
    'the same id twice beside another, refused once',
    asked(call(1, 'dear'), call(1), call(2)),
    answered([response(1), response(2), response(3)], 0),
    1,
  ],
  ['a refusal without an id', asked(call(1), call(2, 'dear')), answered([response(null), response(2)], 0), 1],
  ['one missing', asked(call(1, 'dear'), call(2)), answered([response(2)]), 5],
  ['one error for all', asked(call(1), call(2), call(3)), answered([{ id: null, error: {} }]), 2],
  ['an id in another spelling', asked(call(1), call('2', 'dear')), answered([response(1), response(2)]), 0],
  ['a notification', asked(call(1), notification), answered([response(1)]), 0],
  ['no batch', Buffer.from('{"id":1}'), answered([response(1)], 0), 0],
])('%s: credits of what no node answered', (_, payload, batch, expected) =>
  expect(creditsOfUnserved(payload, batch, weights)).toEqual({ credits: expected, provoked: 0 }),
)

test('credits of entries that were refused for what they ask are counted by themselves', () => {
  const refused = new Map([
    [0, 'rate_limit' as const],
    [1, 'query_limit' as const],
    [2, 'plan' as const],
  ])
  const responses = [1, 2, 3, 4].map(response)
  expect(
    creditsOfUnserved(
      asked(call(1), call(2, 'dear'), call(3), call(4)),
      { text: '', responses, refused },
      weights,
    ),
  ).toEqual({ credits: 7, provoked: 6 })
})
