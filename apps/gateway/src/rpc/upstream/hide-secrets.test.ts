import { once } from 'node:events'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { gzipSync } from 'node:zlib'
import { hideSecrets } from './hide-secrets'

const secrets = ['first/secret/longer', 'first/secret']
const written = 'a first%2Fsecret b first\\/secret\\/longer c first/secret'
const hidden = `a ${'*'.repeat(14)} b ${'*'.repeat(21)} c ${'*'.repeat(12)}`

async function streamed(body: string, rest: Readable) {
  const exchanged = await hideSecrets(
    { outcome: 'answered', answer: { status: 200, headers: {}, body: Buffer.from(body), rest } },
    secrets,
  )
  if (exchanged.outcome !== 'answered' || !exchanged.answer.rest) throw new Error('It is no stream')
  return { first: exchanged.answer.body.toString(), rest: exchanged.answer.rest }
}

test.each([1, 2, 3, 7, written.length])(
  'secrets are hidden in a stream of parts of %i bytes',
  async (size) => {
    const parts = Array.from({ length: Math.ceil(written.length / size) }, (_, at) =>
      written.slice(at * size, (at + 1) * size),
    )
    for (let inBody = 0; inBody <= parts.length; inBody++) {
      const source = Readable.from(parts.slice(inBody).map((part) => Buffer.from(part)))
      const { first, rest } = await streamed(parts.slice(0, inBody).join(''), source)
      expect(first + (await text(rest))).toBe(hidden)
    }
  },
)

test('a stream is cut off where its source breaks, and its source is closed with it', async () => {
  const breaking = new Readable({ read: () => undefined })
  const cut = await streamed('start', breaking)
  breaking.destroy(new Error('broken off'))
  const [error] = (await once(cut.rest, 'error')) as [Error]
  expect(error.message).toBe('broken off')

  const open = new Readable({ read: () => undefined })
  const left = await streamed('start', open)
  const closed = new Promise((resolve) => void open.on('close', () => resolve('closed')))
  left.rest.destroy()
  expect(await closed).toBe('closed')
})

test('secrets are hidden in headers', async () => {
  const headers = { etag: `"${secrets[1]}"`, link: ['a', `b/${secrets[0]}`] }
  const answer = { status: 200, headers, body: Buffer.alloc(0), rest: undefined }
  expect(await hideSecrets({ outcome: 'answered', answer }, secrets)).toMatchObject({
    answer: { headers: { etag: `"${'*'.repeat(12)}"`, link: ['a', `b/${'*'.repeat(19)}`] } },
  })
})

const compressed = gzipSync(written)

test.each([
  ['is not compressed', Buffer.from(written), 'gzip'],
  ['ends too early', compressed.subarray(0, -9), 'gzip'],
  ['is in another encoding', compressed, 'br'],
  ['is in an unknown encoding', compressed, 'zstd'],
])('an answer that is said to be compressed and %s is none', async (_, body, encoding) => {
  const answer = { status: 200, headers: { 'content-encoding': encoding }, body, rest: undefined }
  expect(await hideSecrets({ outcome: 'answered', answer }, secrets)).toEqual({ outcome: 'reset' })
})
