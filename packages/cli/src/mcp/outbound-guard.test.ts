import { createServer } from 'node:http'
import { type LookupAddress } from 'node:dns'
import { type AddressInfo } from 'node:net'
import { fetch, type Agent } from 'undici'
import { createGuardedAgent, findPrivateAddress, type Guard } from './outbound-guard'

let requests = 0
const server = createServer((req, res) => {
  requests += 1
  if (req.url === '/metadata') res.writeHead(302, { location: 'http://169.254.169.254/latest' })
  res.end('internal')
})
let port: number
const agents: Agent[] = []

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
beforeEach(() => void (requests = 0))
afterEach(() => Promise.all(agents.splice(0).map((agent) => agent.destroy())))
afterAll(() => new Promise((resolve) => server.close(resolve)))

async function outcome(url: string, guard: Partial<Guard> = {}): Promise<string> {
  const dispatcher = createGuardedAgent({ trustedUrls: [], isPrivateAllowed: false, ...guard })
  agents.push(dispatcher)
  try {
    return await (await fetch(url, { dispatcher })).text()
  } catch (error) {
    return findPrivateAddress(error)?.name ?? `another error: ${String(error)}`
  }
}

/** A name server whose answers follow one another. */
type Lookup = NonNullable<Guard['lookup']>

const answering =
  (...answers: string[][]): Lookup =>
  (_, __, callback) => {
    const addresses = answers.length > 1 ? answers.shift() : answers[0]
    callback(
      null,
      (addresses ?? []).map((address): LookupAddress => ({ address, family: 4 })),
    )
  }

describe('a connection', () => {
  test.each(['127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f.1', '0', '[::ffff:127.0.0.1]', '[::1]'])(
    'to this machine as %s is not opened',
    async (host) => {
      expect(await outcome(`http://${host}:${port}/`)).toBe('PrivateAddressError')
      expect(requests).toBe(0)
    },
  )

  test('to a name with a private address among its addresses is not opened', async () => {
    const lookup = answering(['1.1.1.1', '127.0.0.1'])
    expect(await outcome(`http://rebind.example:${port}/`, { lookup })).toBe('PrivateAddressError')
    expect(requests).toBe(0)
  })

  test('asks for the address once, so that a later answer changes nothing', async () => {
    const lookup = jest.fn(answering(['127.0.0.1'], ['1.1.1.1']))
    expect(await outcome(`http://rebind.example:${port}/`, { lookup })).toBe('PrivateAddressError')
    expect(lookup).toHaveBeenCalledTimes(1)
  })

  test('to the gateway is opened wherever it is, and to another port of its host is not', async () => {
    const trustedUrls = [`http://127.0.0.1:${port}/base`]
    expect(await outcome(`http://127.0.0.1:${port}/`, { trustedUrls })).toBe('internal')
    const other = [`http://127.0.0.1:${port + 1}`]
    expect(await outcome(`http://127.0.0.1:${port}/`, { trustedUrls: other })).toBe('PrivateAddressError')
  })

  test('of a redirect is checked, also from a trusted origin', async () => {
    const trustedUrls = [`http://127.0.0.1:${port}`]
    expect(await outcome(`http://127.0.0.1:${port}/metadata`, { trustedUrls })).toBe('PrivateAddressError')
  })

  test('to a private network is opened if that is allowed', async () => {
    expect(await outcome(`http://127.0.0.1:${port}/`, { isPrivateAllowed: true })).toBe('internal')
  })
})

test('a name that the system does not resolve fails the request, and not the program', async () => {
  expect(await outcome('http://does-not-exist.invalid/')).toContain('another error')
})
