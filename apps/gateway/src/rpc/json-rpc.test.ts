import { entryErrorOf, jsonRpcErrorOf, refusalBody } from './json-rpc'
import { areInexact, idsOf, idTextsOf } from './json-rpc-ids'
import { MethodNotServed } from './not-served'

const idsIn = (text: string) => idTextsOf(idsOf(JSON.parse(text)), text)
const call = (id: string) => `{"method":"a","id":${id},"params":[{"id":5},"\\"id\\":6,]}"]}`

test.each([
  '7',
  '-1',
  '"a"',
  '9007199254740993',
  '12345678901234567890',
  '-9223372036854775808',
  '1e400',
  '0.1000000000000000055',
])('the id %s is answered as it was sent, alone and in a batch', (id) => {
  expect(idsIn(call(id))).toEqual([id])
  expect(idsIn(`[ ${call('1')},${call(id)} , {"method":"a"},\n${call(id)} ]`)).toEqual([
    '1',
    id,
    undefined,
    id,
  ])
  for (const text of [call(id), `[${call(id)}]`]) {
    const body = refusalBody(idsOf(JSON.parse(text)), text, () => ({ code: 1, message: 'no' })) ?? ''
    const answer = { jsonrpc: '2.0', id: JSON.parse(id) as unknown, error: { code: 1, message: 'no' } }
    expect(JSON.parse(body)).toEqual(text.startsWith('[') ? [answer] : answer)
  }
})

test.each([
  ['{"id":9007199254740993}', ['9007199254740993']],
  ['{"\\u0069d":9007199254740993,"method":"a"}', ['9007199254740993']],
  [`{"id":${'9'.repeat(257)},"method":"a"}`, ['null']],
  [`{"id":${'9'.repeat(256)},"method":"a"}`, ['9'.repeat(256)]],
  [`{"id":"${'x'.repeat(257)}","method":"a"}`, ['null']],
  ['{"id":null,"method":"a"}', ['null']],
  ['{"id":[9007199254740993],"method":"a"}', ['null']],
  ['{"method":"a"}', [undefined]],
  ['{}', ['null']],
  ['5', ['null']],
  ['[[9007199254740993],{"id":9007199254740993}]', ['null', '9007199254740993']],
  [' [{"id":9007199254740993}]', ['9007199254740993']],
  ['[]', []],
])('the ids of %.60s are %j', (text, ids) => {
  expect(idsIn(text)).toEqual(ids)
})

test('the text is kept only for ids that need it', () => {
  const needs = (text: string) => areInexact(idsOf(JSON.parse(text)))
  expect(['{"id":1}', '[{"id":1},{"id":"9007199254740993"}]'].map(needs)).toEqual([false, false])
  expect(['{"id":9007199254740993}', '[{"id":1},{"id":1e21}]'].map(needs)).toEqual([true, true])
})

describe('a batch with an unserved method', () => {
  const error = new MethodNotServed(['eth_subscribe', 'eth_unsubscribe'])
  const message = 'payload: eth_subscribe is not served over HTTP on this chain; nothing was charged'

  test.each([
    [{ method: 'eth_subscribe' }, -32_601, message],
    [{ method: 'eth_unsubscribe' }, -32_601, message.replace('eth_subscribe', 'eth_unsubscribe')],
    [
      { method: 'eth_call', Method: 'eth_unsubscribe' },
      -32_601,
      message.replace('eth_subscribe', 'eth_unsubscribe'),
    ],
    [{ method: 'eth_call' }, -32_600, `The batch was not sent. ${message}`],
    [{ method: 'eth_call', Methods: 'eth_subscribe' }, -32_600, `The batch was not sent. ${message}`],
  ])('is refused for the entry %j with %d', (entry, code, expected) => {
    expect(entryErrorOf(error, jsonRpcErrorOf(error)!, entry)).toEqual({ code, message: expected })
  })

  test('differs from a batch refused for another reason: that is the reason of each entry', () => {
    const refusal = { code: -32_603, message: 'away' }
    expect(entryErrorOf(new Error('away'), refusal, { method: 'eth_subscribe' })).toBe(refusal)
  })
})
