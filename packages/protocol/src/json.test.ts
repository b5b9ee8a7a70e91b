import fc from 'fast-check'
import { JsonError, memberText, memberTexts, parseJson } from './json'

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)

describe('parseJson', () => {
  test('reads what JSON.parse reads, for any value whose keys are allowed', () => {
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

  test('takes 64 levels and refuses 65, and ten thousand', () => {
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

  test('takes time in proportion to the length', () => {
    const quotes = `{"a":"${'\\"'.repeat(500_000)}"}`
    const backslashes = `{"a":"${'\\\\'.repeat(500_000)}"}`
    const keys = `{${Array.from({ length: 60_000 }, (_, index) => `"key${index}":1`).join()}}`
    const startedAt = performance.now()
    for (const text of [quotes, backslashes, keys]) parseJson(text)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})

describe('memberText', () => {
  test('gives the text of a member as it was sent', () => {
    const payload = '{ "id": 12345678901234567890, "params": [1.0, {"payload":"}"}], "a\\"b":"," }'
    const text = `{"chain_id":"1", "x":{"payload":1,"y":[{"payload":2}]}, "payload" : ${payload} , "resource":"payload"}`
    expect(memberText(text, 'payload')).toBe(payload)
    expect(memberText(text, 'chain_id')).toBe('"1"')
    expect(memberText(text, 'resource')).toBe('"payload"')
    expect(memberText(text, 'y')).toBeUndefined()
  })

  test('knows a key in whatever way it is written', () => {
    expect(memberText('{"\\u0070ayload":[1]}', 'payload')).toBe('[1]')
  })

  test.each(['[]', '"payload"', '1', '{}', '[{"payload":1}]'])('finds nothing in %s', (text) => {
    expect(memberText(text, 'payload')).toBeUndefined()
  })

  test('means the same as the parsed member, for any object', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.constantFrom(undefined, 2),
        (given, indent) => {
          const text = JSON.stringify(given, null, indent)
          for (const [name, value] of Object.entries(given))
            expect(JSON.parse(memberText(text, name) ?? 'null')).toEqual(JSON.parse(JSON.stringify(value)))
        },
      ),
    )
  })
})

describe('memberTexts', () => {
  test('gives every member, in its order and as it was sent', () => {
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

  test('takes time in proportion to the length', () => {
    const text = `{${Array.from({ length: 100_000 }, (_, index) => `"key${index}":${index}`).join()}}`
    const startedAt = performance.now()
    expect([...memberTexts(text)]).toHaveLength(100_000)
    expect(performance.now() - startedAt).toBeLessThan(2_000)
  })
})
