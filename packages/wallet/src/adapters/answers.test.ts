import { answersOf } from './answers'

const batch = [{ id: 1 }, { id: 2 }]
const error = { code: 3, message: 'execution reverted', data: '0x08c379a0' }
const missing = { error: { code: -32000, message: expect.any(String) as string } }

test.each<[string, Parameters<typeof answersOf>[0], unknown, unknown[]]>([
  ['a call', { id: 1 }, { jsonrpc: '2.0', id: 1, result: '0x1' }, [{ result: '0x1' }]],
  ['a call that found nothing', { id: 1 }, { id: 1, result: null }, [{ result: null }]],
  ['a call that failed', { id: 1 }, { id: null, error }, [{ error }]],
  ['an old node', { id: 1 }, { id: 1, error: null, result: 5 }, [{ result: 5 }]],
  [
    'an error without a code',
    { id: 1 },
    { id: 1, error: 'no' },
    [{ error: { code: -32000, message: '"no"' } }],
  ],
  [
    'a batch',
    batch,
    [
      { id: 1, result: 'a' },
      { id: 2, error },
    ],
    [{ result: 'a' }, { error }],
  ],
  [
    'a batch in another order',
    batch,
    [
      { id: 2, result: 'b' },
      { id: 1, result: 'a' },
    ],
    [{ result: 'a' }, { result: 'b' }],
  ],
  ['a batch refused as a whole', batch, { id: null, error }, [{ error }, { error }]],
  [
    'a batch with an empty answer',
    batch,
    ['x', { id: 1 }, { id: 2, result: 'b' }],
    [missing, { result: 'b' }],
  ],
  ['a batch with an answer left out', batch, [{ id: 2, result: 'b' }], [missing, { result: 'b' }]],
])('the answer to %s', (_, body, answer, expected) => {
  expect(answersOf(body, answer)).toEqual(expected)
})

test.each([undefined, null, 'busy', {}, { id: 1 }])('%p is no answer', (answer) => {
  expect(() => answersOf({ id: 1 }, answer)).toThrow(
    expect.objectContaining({ code: 'GATEWAY_ERROR' }) as Error,
  )
})

test('one result is no answer to a batch', () => {
  expect(() => answersOf(batch, { id: 1, result: 1 })).toThrow(
    expect.objectContaining({ code: 'GATEWAY_ERROR' }) as Error,
  )
})
