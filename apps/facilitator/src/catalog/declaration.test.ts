import { bazaarOf } from '../testing/bazaar'
import { readDeclarationV1, readDeclarationV2 } from './declaration'
import { readServiceMetadata } from './service-metadata'

const bodyV2 = (bazaar: unknown, resource: unknown = { url: 'https://shop.example/weather' }) => ({
  paymentPayload: { resource, extensions: { bazaar } },
})
const large = { a: 'x'.repeat(3_000), b: 'x'.repeat(3_000), c: 'x'.repeat(3_000) }
const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) })
const withInput = (input: object) => {
  const bazaar = bazaarOf()
  return { ...bazaar, info: { ...bazaar.info, input } }
}
const open = { type: 'object', properties: { input: {} }, required: ['input'] }

describe('extensions.bazaar of version 2', () => {
  test.each([
    '/../%2e%2e/admin',
    '/a/%252e%252e/b',
    '//evil.example',
    '/%2f/evil.example/..',
    'javascript:alert(1)',
    '/\u202e',
    5,
  ])('keeps no route template that is no path of the origin: %j', (routeTemplate) => {
    const declaration = readDeclarationV2(bodyV2({ ...bazaarOf(), routeTemplate }))
    expect(declaration).toEqual({ ...readDeclarationV2(bodyV2(bazaarOf())) })
    expect(JSON.stringify(declaration)).not.toContain('routeTemplate')
  })

  test('is read: how to call the resource, and no other members', () => {
    const bazaar = bazaarOf()
    expect(
      readDeclarationV2(bodyV2({ ...bazaar, routeTemplate: '/weather/:city', more: 'x' })),
    ).toMatchObject({
      url: 'https://shop.example/weather',
      routeTemplate: '/weather/:city',
      type: 'http',
      operation: 'GET',
      declared: { ...bazaar, routeTemplate: '/weather/:city' },
    })
    const input = { type: 'mcp', toolName: 'forecast', inputSchema: { type: 'object' } }
    expect(readDeclarationV2(bodyV2({ info: { input }, schema: open }))).toMatchObject({
      type: 'mcp',
      operation: 'forecast',
    })
  })

  test.each([[{}], [{ paymentPayload: { extensions: {} } }], [bodyV2(null)], [bodyV2(undefined)], [null]])(
    'is not required: %j',
    (body) => {
      expect(readDeclarationV2(body)).toBeUndefined()
    },
  )

  test.each<[string, unknown]>([
    ['no object', 'text'],
    ['no info', { schema: bazaarOf().schema }],
    ['no schema', { info: bazaarOf().info }],
    ['a schema without input', { ...bazaarOf(), schema: { type: 'object' } }],
    ['an unknown type', withInput({ type: 'grpc' })],
    ['an unknown method', withInput({ type: 'http', method: 'TRACE' })],
    [
      'a body type for GET',
      { ...withInput({ type: 'http', method: 'GET', bodyType: 'json' }), schema: open },
    ],
    ['no body type for POST', { ...withInput({ type: 'http', method: 'POST' }), schema: open }],
    ['an MCP tool without a name', { ...withInput({ type: 'mcp', inputSchema: {} }), schema: open }],
    [
      'an MCP tool with a name that is no text',
      { ...withInput({ type: 'mcp', toolName: 'a\nb', inputSchema: {} }), schema: open },
    ],
    ['info that does not satisfy the schema', withInput({ type: 'http', method: 'POST', bodyType: 'json' })],
    ['a schema elsewhere', { ...bazaarOf(), schema: { ...open, $ref: 'https://evil.example/' } }],
    ['more than 8 KiB', { info: { ...bazaarOf().info, output: large }, schema: open }],
    ['more than 16 levels', { info: { ...bazaarOf().info, output: { a: deep(16) } }, schema: open }],
    ['NUL', { info: { ...bazaarOf().info, output: { a: '\u0000' } }, schema: open }],
    ['a number with an exponent', { info: { ...bazaarOf().info, output: { a: 1e300 } }, schema: open }],
  ])('is refused with %s', (_, bazaar) => {
    expect(readDeclarationV2(bodyV2(bazaar))).toEqual({ problem: expect.any(String) as string })
  })

  test('is refused without a resource', () => {
    for (const paymentPayload of [{}, { resource: null }, { resource: {} }])
      expect(
        readDeclarationV2({ paymentPayload: { ...paymentPayload, extensions: { bazaar: bazaarOf() } } }),
      ).toEqual({ problem: 'the payment names no resource' })
  })

  test('keeps texts that can be stored and shown', () => {
    const url = 'https://shop.example/weather'
    expect(
      readDeclarationV2(bodyV2(bazaarOf(), { url, description: 'a\u0000b\u001bc', mimeType: 5 })),
    ).toMatchObject({ description: 'a b c', mimeType: undefined })
    expect(readDeclarationV2(bodyV2(bazaarOf(), { url, description: 'x'.repeat(4_097) }))).toMatchObject({
      description: undefined,
    })
  })

  test('keeps no invisible characters, in texts and in what is declared', () => {
    const hidden = '\u202e\u200b\u{e0041}'
    const bazaar = bazaarOf()
    const declared = (more: string) => ({
      ...bazaar,
      info: { ...bazaar.info, output: { type: 'json', example: { weather: `sunny${more}` } } },
    })
    const resource = {
      url: 'https://shop.example/weather',
      description: `a${hidden}b`,
      mimeType: `c${hidden}`,
    }
    expect(readDeclarationV2(bodyV2(declared(hidden), resource))).toMatchObject({
      description: 'ab',
      mimeType: 'c',
      declared: declared(''),
    })
  })
})

describe('outputSchema of version 1', () => {
  const bodyV1 = (outputSchema: unknown) => ({
    paymentRequirements: {
      resource: 'https://shop.example/weather',
      description: '',
      mimeType: '',
      outputSchema,
    },
  })
  const input = { type: 'http', method: 'get', discoverable: true, queryParams: { city: 'string' } }

  test.each([[{ input }], [{ input: { type: 'http', method: 'GET' }, output: { a: 1 } }]])(
    'is read: %j',
    (outputSchema) => {
      expect(readDeclarationV1(bodyV1(outputSchema))).toMatchObject({
        url: 'https://shop.example/weather',
        type: 'http',
        operation: 'GET',
        declared: { input: { type: 'http', method: 'GET' } },
      })
    },
  )

  test.each([
    [undefined],
    [null],
    [{}],
    [{ input: { ...input, discoverable: false } }],
    [{ input: { ...input, type: 'mcp' } }],
    [{ input: { ...input, method: 'TRACE' } }],
  ])('lists nothing: %j', (outputSchema) => {
    expect(readDeclarationV1(bodyV1(outputSchema))).toBeUndefined()
  })

  test('keeps no invisible characters', () => {
    expect(readDeclarationV1(bodyV1({ input, output: { a: 'b\u2066\u2069c' } }))).toMatchObject({
      declared: { output: { a: 'bc' } },
    })
  })

  test('is refused with more than 8 KiB', () => {
    expect(readDeclarationV1(bodyV1({ input, output: large }))).toHaveProperty('problem')
  })
})

test.each<[object, object]>([
  [
    { serviceName: 'Shop', tags: ['a', 'A', 'b'], iconUrl: 'https://shop.example/icon.png' },
    { serviceName: 'Shop', tags: ['a', 'b'], iconUrl: 'https://shop.example/icon.png' },
  ],
  [{ tags: ['1', '2', '3', '4', '5', '6'] }, { tags: ['1', '2', '3', '4', '5'] }],
  [{ serviceName: 'x'.repeat(33), tags: ['é', 5, ''], iconUrl: 'data:image/png,x' }, {}],
  [{ serviceName: 'a\u202eb', tags: ['a\u200b', '\u{e0041}'] }, {}],
  [{ serviceName: 'a\u0007', tags: 'text', iconUrl: 'https://user@shop.example/' }, {}],
  [{ iconUrl: 'https://127.0.0.1/icon' }, {}],
  [{ iconUrl: 'https://2130706433/icon' }, {}],
  [{ iconUrl: 'https://0x7f000001/icon' }, {}],
  [{ iconUrl: 'https://[::1]/icon' }, {}],
  [{ iconUrl: 'https://%6cocalhost/icon' }, {}],
  [{ iconUrl: `https://shop.example/${'x'.repeat(2_048)}` }, {}],
])('of the service %j are kept %j', (resource, kept) => {
  expect(readServiceMetadata(resource as Record<string, unknown>)).toEqual(kept)
})
