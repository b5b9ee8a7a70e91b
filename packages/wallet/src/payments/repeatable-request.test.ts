import { getEventListeners } from 'node:events'
import { type Http, type Send } from '../http'
import { repeatable } from './repeatable-request'

const URL = 'https://shop.example/report'

function setUp() {
  const sent: [string, Send | undefined][] = []
  const send: Http['send'] = (url, given) => {
    sent.push([url, given])
    return Promise.resolve(new Response())
  }
  const http = { send } as Http
  return {
    sent,
    repeat: (input: RequestInfo, init?: RequestInit) => repeatable(http, input, init, undefined),
  }
}

test('sends the same request twice, the second time with a payment, and nowhere else', async () => {
  const { sent, repeat } = setUp()
  const init = {
    method: 'PUT',
    body: 'text',
    headers: { a: '1' },
    credentials: 'include',
    cache: 'no-store',
  } as const
  const request = await repeat(URL, init)
  await request.send()
  await request.send({ url: URL, header: { 'x-payment': 'signed' } })
  const [[, plain], [, paid]] = sent as [[string, Send], [string, Send]]
  const body = new TextEncoder().encode('text')
  expect(plain).toMatchObject({
    method: 'PUT',
    body,
    credentials: 'include',
    cache: 'no-store',
    redirect: 'follow',
  })
  expect(paid).toMatchObject({ ...plain, headers: { a: '1', 'x-payment': 'signed' }, redirect: 'manual' })
})

test('takes a Request in the place of options', async () => {
  const { sent, repeat } = setUp()
  const options = new Request(URL, { method: 'POST', body: 'text', headers: { authorization: 'Bearer x' } })
  const request = await repeat(URL, options)
  expect(request.headers.get('authorization')).toBe('Bearer x')
  await request.send()
  expect(sent[0]?.[1]).toMatchObject({ method: 'POST', body: new TextEncoder().encode('text') })
})

test('passes on what only Node knows, such as a proxy', async () => {
  const { sent, repeat } = setUp()
  const dispatcher = {}
  await (await repeat(URL, { dispatcher } as RequestInit)).send()
  expect(sent[0]?.[1]).toMatchObject({ dispatcher })
})

test('follows the signal that fetch would follow', async () => {
  const { repeat } = setUp()
  const [one, other] = [new AbortController(), new AbortController()]
  const request = new Request(URL, { signal: one.signal })
  const ended = async (init?: RequestInit) => (await repeat(request.clone(), init)).signal.aborted
  one.abort()
  expect(await ended()).toBe(true)
  expect(await ended({ signal: null })).toBe(false)
  expect(await ended({ signal: other.signal })).toBe(false)
})

test('requests do not add listeners to the caller’s signal, of which Node would warn', async () => {
  const { repeat } = setUp()
  const { signal } = new AbortController()
  await repeat(URL, { signal })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('refuses what it cannot keep', async () => {
  const integrity = 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
  await expect(setUp().repeat(URL, { integrity })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
})
