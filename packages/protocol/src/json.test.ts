import fc from 'fast-check'
import { JsonError, type JsonBounds, jsonBounds, memberTexts, parseJson, readJson } from './json'

const memberText = (text: string, name: string) => {
  const place = readJson(text).members.get(name)
  return place && text.slice(...place).trim()
}
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('parseJson', () => {
  test('returns the result of JSON.parse for every value with allowed keys', () => {
    const value = fc.jsonValue({ maxDepth: 6 })
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 1, '\t'), (given, indent) => {
        const text = JSON.stringify(given, null, indent)
        fc.pre(!/"(__proto__|constructor|prototype)"/.test(text))
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
    )
  })

  test.each([
    '{"a":1,"a":2}',
    '{"a":1,"b":{"c":1,"d":[],"c":2}}',
    '{"a":1,"\\u0061":2}',
    '[{"x":{}},{"to":1,"to":1}]',
    '{"a":{"b":1},"b":2,"a":3}',
    '{"":1,"":2}',
    '{"\\\\":1,"\\\\":2}',
  ])('refuses a key that comes twice: %s', (text) => {
    expect(() => parseJson(text)).toThrow(JsonError)
  })

  test.each([
    '{"a":{"a":{"a":1}}}',
    '[{"a":1},{"a":1}]',
    '{"a":"b","b":"a"}',
    '{"a":["a","a"],"b":"a\\",\\"a\\":1"}',
    '{"a":"\\\\","b":"\\\\\\""}',
    '["__proto__","constructor"]',
    '{"name":"__proto__"}',
  ])('takes keys that only look alike: %s', (text) => {
    expect(parseJson(text)).toEqual(JSON.parse(text))
  })

  test.each([
    '{"__proto__":{}}',
    '{"a":[{"constructor":1}]}',
    '{"prototype":1}',
    '{"\\u005f_proto__":{"isAdmin":true}}',
  ])('refuses keys that reach into prototypes: %s', (text) => {
    expect(() => parseJson(text)).toThrow(/not allowed/)
  })

  test('accepts 64 levels, and rejects 65 and ten thousand', () => {
    expect(parseJson(nested(64))).toBeDefined()
    expect(() => parseJson(nested(65))).toThrow(/64 levels/)
    expect(() => parseJson(nested(10_000))).toThrow(/64 levels/)
    expect(() => parseJson('{"a":'.repeat(65) + '1' + '}'.repeat(65))).toThrow(/64 levels/)
    expect(parseJson(`[${nested(63)},${nested(63)}]`)).toBeDefined()
  })

  test.each(['', '{', '{"a":1,}', "{'a':1}", '{"a":1}x', 'NaN', '{"a":01}', '\ufeff{}', '{"a":"\u0000"}'])(
    'refuses what is not JSON, without repeating it: %j',
    (text) => {
      expect(() => parseJson(text)).toThrow('the text is not JSON')
    },
  )

  test('is linear in the length of the text', () => {
    const quotes = `{"a":"${'\\"'.repeat(500_000)}"}`
    const backslashes = `{"a":"${'\\\\'.repeat(500_000)}"}`
    const keys = `{${Array.from({ length: 60_000 }, (_, index) => `"key${index}":1`).join()}}`
    const unbounded = { ...jsonBounds, values: 1e6, objects: 1e6, keys: 1e6, distinctKeys: 1e6 }
    const startedAt = performance.now()
    for (const text of [quotes, backslashes, keys]) parseJson(text, unbounded)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})

describe('the bounds', () => {
  const none: JsonBounds = {
    values: 1e6,
    objects: 1e6,
    keys: 1e6,
    distinctKeys: 1e6,
    escapedKeys: 1e6,
    longNumbers: 1e6,
    entries: 1e6,
  }
  const list = (length: number, element: (index: number) => string) =>
    `[${Array.from({ length }, (_, index) => element(index)).join()}]`
  const rows: [keyof JsonBounds, (count: number) => string][] = [
    ['values', (count) => list(count - 1, () => '{}')],
    ['values', (count) => list(count - 1, () => '[ ]')],
    ['values', (count) => list(count - 1, () => '""')],
    ['values', (count) => list(count - 1, (index) => ['1', '-2.5e3', 'true', 'false', 'null'][index % 5]!)],
    ['objects', (count) => list(count, () => '{}')],
    ['keys', (count) => list(count, () => '{"a":1}')],
    ['distinctKeys', (count) => list(count, (index) => `{"k${index}":1,"\\u0061":2}`).replace('k0', 'a1')],
    ['escapedKeys', (count) => list(count, () => '{"\\u0061":1,"b":2}')],
    ['longNumbers', (count) => list(count, () => '9007199254740993')],
    ['entries', (count) => `{"payload":${list(count, () => '{}')}}`],
    ['entries', (count) => `{"payload":${list(count, () => '7')}}`],
    ['entries', (count) => `{"payload":${list(count, () => '[1,2]')}}`],
  ]

  test.each(rows)(
    'accept the maximum of %s, and refuse one more before any value is built',
    (bound, textOf) => {
      const more = bound === 'distinctKeys' ? 11 : 10
      const bounds = { ...none, [bound]: more }
      expect(parseJson(textOf(10), bounds)).toEqual(JSON.parse(textOf(10)))
      const parse = jest.spyOn(JSON, 'parse')
      expect(() => parseJson(textOf(11), bounds)).toThrow(new RegExp(`more than ${more} `))
      expect(parse.mock.calls.filter(([text]) => text.length > 10)).toEqual([])
      parse.mockRestore()
    },
  )

  test('ignore the content of strings', () => {
    const text = JSON.stringify(['{}[],:1234567890123456789"tfn\\'.repeat(100)])
    expect(parseJson(text, { ...none, values: 2, keys: 0, longNumbers: 0 })).toEqual(JSON.parse(text))
  })

  test('count only the entries of top-level arrays', () => {
    const text = `{"payload":{"params":${list(50, () => '1')}},"x":1}`
    expect(parseJson(text, { ...none, entries: 10 })).toEqual(JSON.parse(text))
  })

  test('allow a batch of a thousand calls, and a transaction of 128 KB', () => {
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_call',
      params: [{ from: '0x1', to: '0x2', gas: '0x3', value: '0x4', data: `0x${'ab'.repeat(200)}` }, 'latest'],
    })
    const logs = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_getLogs',
      params: [{ fromBlock: '0x1', toBlock: '0x2', address: '0x3', topics: ['0x4', null, ['0x5', '0x6']] }],
    })
    for (const entry of [call, logs]) {
      const batch = { payload: Array.from({ length: 1_000 }, (_, id) => entry(id)) }
      expect(parseJson(JSON.stringify(batch))).toEqual(batch)
      expect(() => parseJson(JSON.stringify({ payload: [...batch.payload, {}] }))).toThrow(/1000 entries/)
    }
    const transaction = {
      payload: { method: 'eth_sendRawTransaction', params: [`0x${'ab'.repeat(131_072)}`] },
    }
    expect(parseJson(JSON.stringify(transaction))).toEqual(transaction)
  })

  test('never accept invalid JSON', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '\\',
      '1',
      '-',
      'true',
      ' ',
      '"a":1',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
        const text = parts.join('')
        const outcome = (read: () => unknown) => {
          try {
            return { value: read() }
          } catch (error) {
            return { error }
          }
        }
        const [ours, theirs] = [outcome(() => parseJson(text)), outcome(() => JSON.parse(text))]
        if ('value' in ours) expect(ours).toEqual(theirs)
        else expect(ours.error).toBeInstanceOf(JsonError)
        if ('value' in theirs && !/"a".*"a"/.test(text)) expect(ours).toEqual(theirs)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('the members of the outermost object', () => {
  test('contain the exact text of each', () => {
    const payload = '{ "id": 12345678901234567890, "params": [1.0, {"payload":"}"}], "a\\"b":"," }'
    const text = `{"chain_id":"1", "x":{"payload":1,"y":[{"payload":2}]}, "payload" : ${payload} , "resource":"payload"}`
    expect(memberText(text, 'payload')).toBe(payload)
    expect(memberText(text, 'chain_id')).toBe('"1"')
    expect(memberText(text, 'resource')).toBe('"payload"')
    expect(memberText(text, 'y')).toBeUndefined()
  })

  test('are found under escaped keys', () => {
    expect(memberText('{"\\u0070ayload":[1]}', 'payload')).toBe('[1]')
  })

  test.each(['[]', '"payload"', '1', '{}', '[{"payload":1}]'])('finds nothing in %s', (text) => {
    expect(memberText(text, 'payload')).toBeUndefined()
  })

  test('parse to the same values as the whole text', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom(undefined, 2),
        (given, indent) => {
          const text = JSON.stringify(given, null, indent)
          fc.pre(!/"(__proto__|constructor|prototype)"/.test(text))
          for (const [name, value] of Object.entries(given))
            expect(JSON.parse(memberText(text, name) ?? 'null')).toEqual(JSON.parse(JSON.stringify(value)))
        },
      ),
    )
  })
})

describe('memberTexts', () => {
  test('yields every member in order, with its exact text', () => {
    const text = '{ "limit" : 9007199254740993,"\\u0061":"x\\u0021" , "deep":{"b": [1.0, "}"]}, "last":null }'
    expect([...memberTexts(text)]).toEqual([
      ['limit', '9007199254740993'],
      ['a', '"x\\u0021"'],
      ['deep', '{"b": [1.0, "}"]}'],
      ['last', 'null'],
    ])
  })

  test.each(['[]', '[{"a":1}]', '"a"', '1', '{}', ' { } '])('gives nothing of %s', (text) => {
    expect([...memberTexts(text)]).toEqual([])
  })

  test('is linear in the length of the text', () => {
    const text = `{${Array.from({ length: 100_000 }, (_, index) => `"key${index}":${index}`).join()}}`
    const startedAt = performance.now()
    expect([...memberTexts(text)]).toHaveLength(100_000)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})

test('the documents state these bounds', () => {
  expect(jsonBounds).toEqual({
    values: 32_768,
    objects: 4_096,
    keys: 16_384,
    distinctKeys: 2_048,
    escapedKeys: 1_024,
    longNumbers: 4_096,
    entries: 1_000,
  })
  const objects = (count: number) => JSON.stringify(Array.from({ length: count }, () => ({})))
  expect(parseJson(objects(4_096))).toHaveLength(4_096)
  expect(() => parseJson(objects(4_097))).toThrow(/more than 4096 /)
})
