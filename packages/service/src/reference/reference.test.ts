import { Validator } from '@seriousme/openapi-schema-validator'
import Ajv from 'ajv/dist/2020'
import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { serve, stopServing } from '../testing/serve'
import { curlOf } from './curl'
import { operationsOf } from './document'
import { createReference } from './handlers'
import { html } from './html'
import { createOpenApi, type ReferenceInfo } from './openapi'
import { type Operation } from './operation'
import { pagePolicy, referencePage } from './page'
import { palette } from './style'

afterEach(stopServing)

const Coin = z
  .object({
    name: z.string().max(8),
    worth: z.int().describe('In `cents`.'),
    note: z.string().nullish(),
  })
  .meta({ id: 'Coin', description: 'Money.', examples: [{ name: 'penny', worth: 1 }] })

const Page = z.object({
  size: z
    .string()
    .transform(Number)
    .default(20)
    .meta({ type: 'integer', minimum: 1, description: 'How many.' }),
})

const info: ReferenceInfo = {
  title: 'Mint',
  version: '1.2.3',
  summary: 'Makes coins.',
  description: 'First this.\n\n1. Ask.\n2. Pay `1 < 2`.',
  url: 'https://mint.example',
  tags: [{ name: 'Coins', description: 'All of them.' }],
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: 'A token.' },
    keyId: { type: 'apiKey', in: 'header', name: 'X-Key-ID', description: 'The id of a key.' },
    keySecret: { type: 'apiKey', in: 'header', name: 'X-Key-Secret', description: 'Its secret.' },
    mint: { type: 'http', scheme: 'bearer', description: 'The mint’s own token.' },
  },
}

const getCoin: Operation = {
  id: 'getCoin',
  method: 'get',
  path: '/coins/{name}',
  tag: 'Coins',
  summary: 'Get a coin.',
  pathParameters: z.object({ name: z.string().meta({ examples: ["a penny's worth"] }) }),
  query: Page,
  answers: { 200: { description: 'The coin.', schema: Coin } },
  errors: { NOT_FOUND: 'There is no such coin.', RATE_LIMITED: 'Too many.', UNAVAILABLE: 'Closed.' },
}

const makeCoin: Operation = {
  id: 'makeCoin',
  method: 'post',
  path: '/coins',
  tag: 'Coins',
  summary: 'Make a coin.',
  auth: ['bearer'],
  body: { schema: Coin },
  answers: {
    200: {
      description: 'The coin.',
      schema: z.object({ data: Coin }),
      examples: { penny: { data: { name: 'penny', worth: 1 } } },
    },
  },
}

const meltCoin: Operation = {
  id: 'meltCoin',
  method: 'delete',
  path: '/coins/{name}',
  tag: 'Coins',
  summary: 'Melt a coin.',
  auth: [['keyId', 'keySecret'], 'mint'],
  pathParameters: z.object({ name: z.string().meta({ examples: ['penny'] }) }),
  answers: { 200: { description: 'It is gone.', schema: Coin } },
  errors: { UNAUTHORIZED: 'The key is missing or wrong.' },
}

const document = createOpenApi(info, [getCoin, makeCoin, meltCoin])

describe('createOpenApi', () => {
  test('writes a document that is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate({ ...document })
    expect([valid, errors]).toEqual([true, undefined])
  })

  test('writes a shared schema once, and refers to it', () => {
    expect(document.components.schemas['Coin']).toMatchObject({ type: 'object', required: ['name', 'worth'] })
    expect(document.paths['/coins']!['post']!.requestBody).toMatchObject({
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Coin' } } },
    })
  })

  test('lets answers get members that are not described yet', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })

  test('says which codes a status can have, and where to read when to come back', () => {
    const { responses } = document.paths['/coins/{name}']!['get']!
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '404',
      '408',
      '413',
      '415',
      '417',
      '429',
      '431',
      '500',
      '503',
    ])
    expect(responses['404']).toMatchObject({
      content: {
        'application/json': {
          schema: { allOf: [{}, { properties: { code: { oneOf: [{ const: 'NOT_FOUND' }] } } }] },
          examples: { NOT_FOUND: { value: { code: 'NOT_FOUND', message: 'There is no such coin.' } } },
        },
      },
    })
    for (const status of ['429', '503'])
      expect(responses[status]).toMatchObject({ headers: { 'Retry-After': {}, RateLimit: {} } })
    expect(responses['200']).toMatchObject({ headers: { 'X-Request-Id': {}, RateLimit: {} } })
    expect(responses['408']).toEqual({ $ref: '#/components/responses/RequestTimeout' })
    expect(document.paths['/coins']!['post']!.responses['503']).toEqual({
      $ref: '#/components/responses/ServiceUnavailable',
    })
    expect(document.components.responses['ServiceUnavailable']).toMatchObject({
      headers: { 'Retry-After': {} },
    })
  })

  test('tells headers that must come together from those of which one will do', () => {
    const { security, responses } = document.paths['/coins/{name}']!['delete']!
    expect(security).toEqual([{ keyId: [], keySecret: [] }, { mint: [] }])
    expect(document.paths['/coins']!['post']!.security).toEqual([{ bearer: [] }])
    expect(responses['401']).toMatchObject({ headers: { 'WWW-Authenticate': {} } })
  })

  test('speaks of the challenge for a client key only where there are such keys', () => {
    const { bearer } = info.securitySchemes
    const keyless = createOpenApi({ ...info, securitySchemes: { bearer: bearer! } }, [
      { ...meltCoin, auth: ['bearer'] },
    ])
    const challengeIn = ({ components }: typeof document) =>
      components.headers['WWW-Authenticate']!.description
    expect(challengeIn(document)).toContain('`ClientKey`')
    expect(challengeIn(keyless)).not.toContain('`ClientKey`')
  })

  test('describes a parameter as it is written, with its default', () => {
    expect(document.paths['/coins/{name}']!['get']!.parameters).toEqual([
      { name: 'name', in: 'path', required: true, schema: { type: 'string' }, example: "a penny's worth" },
      {
        name: 'size',
        in: 'query',
        required: false,
        description: 'How many.',
        schema: { type: 'integer', minimum: 1, default: 20 },
      },
    ])
  })

  const contradictions: [string, Operation[], RegExp][] = [
    ['an operation twice', [getCoin, getCoin], /twice/],
    ['a parameter its path lacks', [{ ...getCoin, path: '/coins' }], /other parameters/],
    [
      'an answer without an example',
      [{ ...makeCoin, answers: { 200: { description: '', schema: z.string() } } }],
      /no example/,
    ],
    [
      'two schemas of one id',
      [
        makeCoin,
        {
          ...makeCoin,
          path: '/',
          body: { schema: z.object({ other: z.string() }).meta({ id: 'Error', examples: [{}] }) },
        },
      ],
      /not the same/,
    ],
  ]
  test.each(contradictions)('refuses %s', (_, operations, problem) => {
    expect(() => createOpenApi(info, operations)).toThrow(problem)
  })

  test('writes schemas that a validator can read', () => {
    const ajv = new Ajv({ strict: true, validateFormats: false, keywords: ['components'] })
    ajv.addSchema({ $id: 'document', components: document.components })
    const validate = ajv.compile({ $ref: 'document#/components/schemas/Coin' })
    expect([validate({ name: 'penny', worth: 1, note: null }), validate({ name: 'penny' })]).toEqual([
      true,
      false,
    ])
  })
})

describe('the page', () => {
  const hostile = `<script>alert("x")</script><img src='x' onerror=&#39;>`
  const spoiled = (value: unknown): unknown =>
    typeof value === 'string'
      ? value.startsWith('#/')
        ? value
        : value + hostile
      : Array.isArray(value)
        ? value.map(spoiled)
        : typeof value === 'object' && value !== null
          ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, spoiled(member)]))
          : value

  test('shows whatever the document says as text', () => {
    const page = referencePage({ ...(spoiled(document) as typeof document), openapi: '3.1.0' })
    expect(page).toContain('&lt;script&gt;alert(&quot;x&quot;)')
    expect(page).not.toMatch(/<script|<img|onerror='/)
  })

  test('escapes every text in any place', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.oneof(
            fc.constantFrom('<', '>', '&', '"', "'", '/'),
            fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
          ),
        }),
        (text) => {
          const [, quoted, plain] =
            /^<p title="([^]*)">([^]*)<\/p>$/.exec(html`<p title="${text}">${[text]}</p>`.text) ?? []
          for (const shown of [quoted, plain]) {
            expect(shown).not.toMatch(/[<>"']/)
            expect(unescaped(shown ?? '')).toBe(text)
          }
        },
      ),
    )
  })

  test('may load its own style, and nothing else', async () => {
    const { docs } = createReference(document, [])
    const { url } = await serve({ routes: (app) => app.get('/docs', docs) })
    const answer = await fetch(`${url}/docs`)
    const page = await answer.text()
    const [, style = ''] = /<style>([^]*?)<\/style>/.exec(page) ?? []
    const hash = createHash('sha256').update(style).digest('base64')
    expect(answer.headers.get('content-security-policy')).toBe(pagePolicy)
    expect(pagePolicy.split(';').slice(0, 2)).toEqual(["default-src 'none'", `style-src 'sha256-${hash}'`])
    expect(page).not.toMatch(/<(script|link|img|iframe|object|form)|\sstyle=|url\(|@import|\son\w+=/i)
    expect((await fetch(`${url}/docs`, { method: 'HEAD' })).status).toBe(200)
  })

  test('says which headers an operation takes together, and what will do instead', () => {
    expect(referencePage(document)).toContain('The id of a key. and Its secret. or The mint’s own token.')
  })

  test('leads to each operation and shape, under headings that leave no level out', () => {
    const page = referencePage(document)
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(targets.filter((target) => !ids.includes(target))).toEqual([])
    expect(targets).toEqual(
      expect.arrayContaining(['content', 'getCoin', 'makeCoin', 'schema-Coin', 'schema-Error']),
    )
    const levels = [...page.matchAll(/<h([1-6])/g)].map(([, level]) => Number(level))
    expect(levels.filter((level) => level === 1)).toHaveLength(1)
    levels.forEach((level, index) => expect(level).toBeLessThanOrEqual((levels[index - 1] ?? 0) + 1))
    for (const landmark of ['<header', '<nav', '<main', '<footer', 'lang="en"'])
      expect(page).toContain(landmark)
  })

  test.each(['light', 'dark'] as const)(
    'can be read in %s: each text has a contrast of 4.5 at least',
    (mode) => {
      const { front, behind } = palette[mode]
      for (const text of Object.values(front))
        for (const ground of Object.values(behind)) expect(contrast(text, ground)).toBeGreaterThanOrEqual(4.5)
    },
  )
})

describe('curlOf', () => {
  const of = (id: string) => operationsOf(document).find(({ operation }) => operation.operationId === id)!

  test('fills the path in, and quotes for a shell', () => {
    expect(curlOf(document, of('getCoin'))).toBe(`curl 'https://mint.example/coins/a%20penny'\\''s%20worth'`)
  })

  test('sends token, media type and body', () => {
    expect(curlOf(document, of('makeCoin')).split(' \\\n  ')).toEqual([
      `curl -X POST 'https://mint.example/coins'`,
      '-H "Authorization: Bearer $TOKEN"',
      `-H 'Content-Type: application/json'`,
      `-d '{\n  "name": "penny",\n  "worth": 1\n}'`,
    ])
  })

  test('sends all headers of a key', () => {
    expect(curlOf(document, of('meltCoin')).split(' \\\n  ')).toEqual([
      `curl -X DELETE 'https://mint.example/coins/penny'`,
      '-H "X-Key-ID: $X_KEY_ID"',
      '-H "X-Key-Secret: $X_KEY_SECRET"',
    ])
  })

  test('names the token of each scheme differently', () => {
    const needsMint = createOpenApi(info, [{ ...makeCoin, auth: ['mint'] }])
    expect(curlOf(needsMint, operationsOf(needsMint)[0]!)).toContain('-H "Authorization: Bearer $MINT_TOKEN"')
  })
})

test('the text for models is Markdown of the form that llms.txt has', async () => {
  const { llms } = createReference(document, [{ name: 'OpenAPI', path: '/openapi.json', note: 'everything' }])
  const { url } = await serve({ routes: (app) => app.get('/llms.txt', llms) })
  const answer = await fetch(`${url}/llms.txt`)
  expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
  expect(await answer.text()).toBe(`# Mint

> Makes coins.

First this.

1. Ask.
2. Pay \`1 < 2\`.

Base URL: https://mint.example

## Documents

- [OpenAPI](https://mint.example/openapi.json): everything

## Endpoints

- [GET /coins/{name}](https://mint.example/docs#getCoin): Get a coin.
- [DELETE /coins/{name}](https://mint.example/docs#meltCoin): Melt a coin. Needs X-Key-ID and X-Key-Secret or mint.
- [POST /coins](https://mint.example/docs#makeCoin): Make a coin. Needs bearer.
`)
})

const unescaped = (text: string) =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** WCAG 2.2, contrast ratio of two colours. */
function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
