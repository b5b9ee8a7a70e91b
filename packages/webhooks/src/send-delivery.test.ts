import { closeAll, startWebhookReceiver } from '@tollgate/testing'
import { type LookupAddress } from 'node:dns'
import { sendDelivery } from './send-delivery'

afterAll(closeAll)

const delivery = {
  id: 1n,
  attempt: 1,
  endpointId: '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3',
  secrets: ['whsec_ZXhhbXBsZSBvZiAzMiBieXRlcywgbm90IGEgc2VjcmV0IQ=='],
  messageId: 'msg_1',
  type: 'thing.changed',
  data: '{"subject":"one"}',
  createdAt: new Date('2026-01-15T12:00:00Z'),
  elapsedMs: 0,
  provesPayment: false,
  hasPaid: true,
}
const send = (
  url: string,
  options: Partial<Parameters<typeof sendDelivery>[1]> = {},
  members: Partial<typeof delivery> = {},
) =>
  sendDelivery(
    { ...delivery, ...members, url },
    { isProduction: false, signal: new AbortController().signal, now: () => new Date(), ...options },
  )
const portOf = (url: string) => new URL(url).port
const at = (address: string): LookupAddress => ({ address, family: address.includes(':') ? 6 : 4 })

describe('no connection is made', () => {
  test('in production to this machine, by address or by name', async () => {
    const receiver = await startWebhookReceiver()
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0', '2130706433'])
      for (const scheme of ['http', 'https']) {
        const { status, error } = await send(`${scheme}://${host}:${portOf(receiver.url)}/`, {
          isProduction: true,
        })
        expect([host, status, error]).toEqual([
          host,
          null,
          expect.stringContaining('no address that is allowed'),
        ])
      }
    expect(receiver.received).toEqual([])
  })

  test.each([
    [[at('10.0.0.1')]],
    [[at('169.254.169.254')]],
    [[at('fd00::1')]],
    [[at('8.8.8.8'), at('192.168.0.1')]],
    [[at('2606:4700::1111'), at('::ffff:10.0.0.1')]],
  ])('to a private address behind a public name', async (addresses) => {
    for (const isProduction of [true, false]) {
      const resolve = () => Promise.resolve(addresses)
      const { status, error } = await send('https://shop.example/', { isProduction, resolve })
      expect([status, error]).toEqual([null, expect.stringContaining('no address that is allowed')])
    }
  })

  test('by http to a public address', async () => {
    const resolve = () => Promise.resolve([at('8.8.8.8')])
    expect((await send('http://shop.example/', { resolve })).error).toContain('no address that is allowed')
  })
})

test('a name is resolved once for an attempt, and the connection goes to the address that was checked', async () => {
  const receiver = await startWebhookReceiver()
  const resolved: string[] = []
  const resolve = (name: string) => {
    resolved.push(name)
    return Promise.resolve([at(resolved.length === 1 ? '127.0.0.1' : '169.254.169.254')])
  }
  const url = `http://shop.example:${portOf(receiver.url)}/hooks`
  expect(await send(url, { resolve })).toEqual({ status: 204, error: null })
  expect(resolved).toEqual(['shop.example'])
  expect((await send(url, { resolve })).error).toContain('no address that is allowed')
  expect(receiver.received).toHaveLength(1)
})

test.each([301, 302, 307, 308])('a redirect (%d) is a failure, and is not followed', async (status) => {
  const other = await startWebhookReceiver()
  const receiver = await startWebhookReceiver(
    (res) => void res.writeHead(status, { location: other.url }).end(),
  )
  expect(await send(receiver.url)).toEqual({ status, error: `status ${status}: redirects are not followed` })
  expect(other.received).toEqual([])
})

test('an endless response is cut, and its status counts', async () => {
  const receiver = await startWebhookReceiver((res) => {
    const write = () => {
      while (!res.destroyed && res.write(Buffer.alloc(16_384)));
    }
    res.on('drain', write)
    write()
  })
  expect(await send(receiver.url)).toEqual({ status: 200, error: null })
})

test('an endpoint that does not answer is abandoned after ten seconds', async () => {
  const receiver = await startWebhookReceiver(() => undefined)
  expect(await Promise.all([true, false].map((hasPaid) => send(receiver.url, {}, { hasPaid })))).toEqual([
    { status: null, error: 'no answer within 10 s' },
    { status: null, error: 'no answer within 3 s' },
  ])
})

test.each([
  ['refuses the connection', {}, 'the request failed (ECONNREFUSED)'],
  ['has a secret that cannot sign', { secrets: [''] }, 'the request failed'],
])('an error of an endpoint that %s names no address', async (_, members, error) => {
  expect(await send('http://127.0.0.1:1/', {}, members)).toEqual({ status: null, error })
})

test('a name without an address and one with a private address look alike', async () => {
  const withPrivate = await send('https://shop.example/', {
    resolve: () => Promise.resolve([at('10.0.0.1')]),
  })
  expect(await send('https://shop.invalid/')).toEqual(withPrivate)
  const failing = () => Promise.reject(new Error('SERVFAIL'))
  expect(await send('https://shop.example/', { resolve: failing })).toEqual(withPrivate)
})

test('the request names no more than it must', async () => {
  const receiver = await startWebhookReceiver()
  await send(receiver.url)
  expect(Object.keys(receiver.received[0]!.headers).sort()).toEqual([
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ])
})
