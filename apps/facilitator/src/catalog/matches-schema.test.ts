import { hasExternalReference, matchesSchema } from './matches-schema'

const query = {
  type: 'object',
  properties: {
    input: {
      type: 'object',
      properties: { type: { const: 'http' }, method: { enum: ['GET', 'HEAD'] }, limit: { type: 'integer' } },
      required: ['type', 'method'],
      additionalProperties: false,
    },
    output: { type: ['object', 'null'] },
  },
  required: ['input'],
}
const input = { type: 'http', method: 'GET' }

test.each<[boolean, unknown, unknown]>([
  [true, { input }, query],
  [true, { input, output: null, more: 1 }, query],
  [true, { input: { ...input, limit: 5 } }, query],
  [false, {}, query],
  [false, { input: 'text' }, query],
  [false, { input: { type: 'http' } }, query],
  [false, { input: { ...input, method: 'POST' } }, query],
  [false, { input: { ...input, type: 'mcp' } }, query],
  [false, { input: { ...input, limit: 1.5 } }, query],
  [false, { input: { ...input, more: 1 } }, query],
  [false, { input, output: [] }, query],
  [false, { input: { ...input, toString: 1 } }, query],
  [false, {}, { type: 'object', required: ['constructor'] }],
  [true, [1, 2], { type: 'array', items: { type: 'number' } }],
  [false, [1, 'a'], { type: 'array', items: { type: 'number' } }],
  [true, { a: 1 }, { additionalProperties: { type: 'number' } }],
  [false, { a: '1' }, { additionalProperties: { type: 'number' } }],
  [true, { x: { b: [1], a: 2 } }, { properties: { x: { const: { a: 2, b: [1] } } } }],
  [true, 1, true],
  [false, 1, false],
  [false, 1, 'text'],
  [false, 1, { type: 'unheard of' }],
])('%s: %j by %j', (matches, value, schema) => {
  expect(matchesSchema(value, schema)).toBe(matches)
})

test('keywords that may take exponential time are not evaluated', () => {
  const repeats = Object.fromEntries(
    Array.from({ length: 60 }, (_, level) => {
      const next = { $ref: `#/$defs/${level + 1}` }
      return [level, { allOf: [next, next] }]
    }),
  )
  expect(matchesSchema('a', { $ref: '#/$defs/0', $defs: repeats })).toBe(true)
  expect(matchesSchema('a'.repeat(60), { type: 'string', pattern: '^(a+)+b$' })).toBe(true)
})

test.each<[boolean, unknown]>([
  [true, { $ref: 'https://evil.example/schema' }],
  [true, { properties: { a: [{ $id: 'file:///etc/passwd' }] } }],
  [true, { $ref: 5 }],
  [false, { $ref: '#/$defs/a' }],
  [false, { $schema: 'https://json-schema.org/draft/2020-12/schema', type: 'object' }],
])('%s: %j leads to another document', (leads, schema) => {
  expect(hasExternalReference(schema)).toBe(leads)
})

test.each([
  ['an enumeration for each element', { items: { enum: Array.from({ length: 1_900 }, (_, n) => n) } }, 1],
  ['many types', { items: { type: [...Array.from({ length: 1_000 }, () => 'null'), 'number'] } }, 1],
  ['many required members', { items: { required: Array.from({ length: 1_900 }, () => 'a') } }, { a: 1 }],
  ['elements of elements', { items: { items: {} } }, [1]],
  ['a property of each element', { items: { properties: { a: { type: 'number' } } } }, { a: 1 }],
  ['another member of each element', { items: { additionalProperties: { type: 'number' } } }, { a: 1 }],
])('%s is refused once it has taken too many steps', (_, schema, element) => {
  const value = Array.from({ length: 1_900 }, () => element)
  expect(matchesSchema(value.slice(0, 1), schema)).toBe(true)
  expect(matchesSchema(value, schema)).toBe(false)
})
