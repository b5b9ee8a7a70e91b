import Ajv from 'ajv/dist/2020'
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { serve, stopServing } from '../testing/serve'
import { createReference } from './handlers'
import { createOpenApi, type ReferenceInfo } from './openapi'
import { type Operation } from './operation'
import { referencePage } from './page'

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
  auth: [[], 'bearer'],
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
  test('writes a shared schema once and references it', () => {
    expect(document.components.schemas['Coin']).toMatchObject({ type: 'object', required: ['name', 'worth'] })
    expect(document.paths['/coins']!['post']!.requestBody).toMatchObject({
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Coin' } } },
    })
  })

  test('allows new properties in responses', () => {
    expect(JSON.stringify(document)).not.toContain('"additionalProperties":false')
  })

  test('lists the codes of each status, and the headers that say when to retry', () => {
    const { responses } = document.paths['/coins/{name}']!['get']!
    expect(Object.keys(responses)).toEqual([
      '200',
      '400',
      '404',
      '408',
      '413',
      '415',
      '417',
      '426',
      '429',
      '431',
      '500',
      '503',
    ])
    expect(responses['404']).toMatchObject({
      content: {
        'application/json': {
          schema: { allOf: [{}, { properties: { code: { enum: ['NOT_FOUND'] } } }] },
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

  test('distinguishes headers that are required together from alternatives', () => {
    const { security, responses } = document.paths['/coins/{name}']!['delete']!
    expect(security).toEqual([{ keyId: [], keySecret: [] }, { mint: [] }])
    expect(document.paths['/coins']!['post']!.security).toEqual([{}, { bearer: [] }])
    expect(responses['401']).toMatchObject({ headers: { 'WWW-Authenticate': {} } })
  })

  test('mentions the challenge for a client key only if the service has client keys', () => {
    const { bearer } = info.securitySchemes
    const keyless = createOpenApi({ ...info, securitySchemes: { bearer: bearer! } }, [
      { ...meltCoin, auth: ['bearer'] },
    ])
    const challengeIn = ({ components }: typeof document) =>
      components.headers['WWW-Authenticate']!.description
    expect(challengeIn(document)).toContain('`ClientKey`')
    expect(challengeIn(keyless)).not.toContain('`ClientKey`')
  })

  test('describes the input form of a parameter, with its default', () => {
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
      /two definitions/,
    ],
  ]
  test.each(contradictions)('refuses %s', (_, operations, problem) => {
    expect(() => createOpenApi(info, operations)).toThrow(problem)
  })

  test('writes schemas that a validator accepts', () => {
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
  const { docs, viewer } = createReference(document, [])
  const serveReference = () =>
    serve({
      routes(app) {
        app.get('/docs', docs)
        app.get('/docs/:version/:file', viewer)
      },
    })
  const filesOf = (page: string) =>
    [...page.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => path!)

  test('shows the title and the summary as text', () => {
    const hostile = `"><script>alert('x')</script>`
    const page = referencePage({ ...document, info: { ...document.info, title: hostile, summary: hostile } })
    expect(page.match(/&#34;&#62;&#60;script&#62;alert\(&#39;x&#39;\)/g)).toHaveLength(2)
    expect(page).not.toContain(hostile)
  })

  test('loads scripts and styles from this service only', async () => {
    const { url } = await serveReference()
    const answer = await fetch(`${url}/docs`)
    const page = await answer.text()
    const [, inline = ''] = /<script>([^]*?)<\/script>/.exec(page) ?? []
    const hash = createHash('sha256').update(inline).digest('base64')
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none';" +
        `script-src 'self' 'sha256-${hash}';` +
        "style-src 'self';img-src data:;connect-src 'self';base-uri 'none';form-action 'none';frame-ancestors 'none'",
    )
    expect(page).not.toMatch(/<style|\sstyle=|\son\w+=|\/\//)
    expect((await fetch(`${url}/docs`, { method: 'HEAD' })).status).toBe(200)
  })

  test('reads the document of this service and sends it to no validator', () => {
    expect(referencePage(document)).toContain("url:'openapi.json'")
    expect(referencePage(document)).toContain('validatorUrl:null')
  })

  test('loads files that browsers keep for a year, whole and without validators', async () => {
    const { url } = await serveReference()
    const files = filesOf(referencePage(document))
    expect(files.map((path) => path.replace(/\d+(\.\d+)+/, 'version'))).toEqual([
      'docs/version/swagger-ui.css',
      'docs/version/swagger-ui-bundle.js',
    ])
    for (const path of files) {
      const conditions = { 'If-None-Match': '*', 'If-Match': '"other"', Range: 'bytes=0-9' }
      const answer = await fetch(`${url}/${path}`, { headers: conditions })
      const size = (await answer.arrayBuffer()).byteLength
      const { headers } = await fetch(`${url}/${path}`, { method: 'HEAD' })
      expect([answer.status, headers.get('content-length')]).toEqual([200, String(size)])
      expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
      expect(headers.get('content-type')).toMatch(/^text\/(css|javascript); charset=utf-8$/)
      expect([headers.get('etag'), headers.get('last-modified'), headers.get('accept-ranges')]).toEqual([
        null,
        null,
        null,
      ])
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test.each([
    'docs/0.0.0/swagger-ui.css',
    'docs/VERSION/package.json',
    'docs/VERSION/..%2f..%2fpackage.json',
  ])('serves no other file: %s', async (path) => {
    const { url } = await serveReference()
    const version = filesOf(referencePage(document))[0]!.split('/')[1]!
    const answer = await fetch(`${url}/${path.replace('VERSION', version)}`)
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([404, null])
    expect(await answer.json()).toMatchObject({ code: 'NOT_FOUND' })
  })

  test('is at one address, because its links are relative', async () => {
    const { url } = await serveReference()
    const answer = await fetch(`${url}/docs/`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '../docs'])
  })
})

test('the text for language models follows the llms.txt format', async () => {
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

- [GET /coins/{name}](https://mint.example/docs#/Coins/getCoin): Get a coin.
- [DELETE /coins/{name}](https://mint.example/docs#/Coins/meltCoin): Melt a coin. Needs X-Key-ID and X-Key-Secret or mint.
- [POST /coins](https://mint.example/docs#/Coins/makeCoin): Make a coin. Takes bearer, or no credentials.
`)
})
