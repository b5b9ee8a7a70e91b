import { encodeBody, readBounded } from './bounded-body'

const endless = (pulled: () => void) =>
  new Response(
    new ReadableStream({
      pull(controller) {
        pulled()
        controller.enqueue(new TextEncoder().encode('x'.repeat(1_000)))
      },
    }),
  )

describe('readBounded', () => {
  test('reads no more of an endless body than its bound', async () => {
    const pulled = jest.fn()
    const { bytes, isCut } = await readBounded(endless(pulled), 2_500)
    expect([bytes.length, isCut]).toEqual([2_500, true])
    expect(pulled.mock.calls.length).toBeLessThan(6)
  })

  test('reads a body of the bound whole', async () => {
    const { bytes, isCut } = await readBounded(new Response('abc'), 3)
    expect([bytes.toString(), isCut]).toEqual(['abc', false])
  })

  test('returns what came before a body broke off', async () => {
    const chunks = ['begin']
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = chunks.shift()
        if (chunk === undefined) controller.error(new Error('cut'))
        else controller.enqueue(new TextEncoder().encode(chunk))
      },
    })
    const { bytes, isCut } = await readBounded(new Response(body), 100)
    expect([bytes.toString(), isCut]).toEqual(['begin', true])
  })

  test('reads an answer without a body', async () => {
    expect((await readBounded(new Response(null, { status: 204 }), 3)).bytes).toHaveLength(0)
  })
})

describe('encodeBody', () => {
  const bytes = Buffer.from('é')
  test.each([
    [{ bytes, isCut: false }, 'text/plain', { body: 'é', encoding: 'text' }],
    [{ bytes, isCut: false }, 'application/problem+json; charset=utf-8', { body: 'é', encoding: 'text' }],
    [{ bytes, isCut: false }, null, { body: 'é', encoding: 'text' }],
    [{ bytes, isCut: false }, 'image/png', { body: bytes.toString('base64'), encoding: 'base64' }],
    [{ bytes: bytes.subarray(0, 1), isCut: true }, 'text/plain', { body: '', encoding: 'text' }],
    [{ bytes: bytes.subarray(0, 1), isCut: false }, 'text/plain', { body: 'ww==', encoding: 'base64' }],
  ])('%j of %s', (body, type, expected) => expect(encodeBody(body, type)).toEqual(expected))
})
