import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { createHttp } from './http'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

let server: Server
let url: string
let answer: (response: ServerResponse) => void

beforeEach(async () => {
  server = createServer((_, response) => answer(response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

function open(timeoutMs = 60_000) {
  const closing = new AbortController()
  return { closing, http: createHttp({ timeoutMs, closed: closing.signal }) }
}

const headersOnly = (response: ServerResponse) => {
  response.writeHead(200)
  response.write('{"half":')
}
const silent = () => undefined

/** Node 20 forgets the signal of an answer once its request was collected. */
async function forget() {
  for (let round = 0; round < 3; round += 1) {
    await new Promise(setImmediate)
    collectGarbage()
  }
}

test('reads JSON, and nothing of what is none or too long', async () => {
  const { http } = open()
  const read = async (text: string, maxBytes?: number) => {
    answer = (response) => response.end(text)
    return http.readJson(await http.send(url), maxBytes === undefined ? {} : { maxBytes })
  }
  expect(await read('{"é":1}')).toEqual({ é: 1 })
  expect(await read('')).toBeUndefined()
  expect(await read('<html>')).toBeUndefined()
  expect(await read('"12345"', 7)).toBe('12345')
  expect(await read('"123456"', 7)).toBeUndefined()
})

describe.each([
  ['the caller’s signal', 'ABORTED'],
  ['close()', 'CLOSED'],
] as const)('%s', (_name, code) => {
  test.each([
    ['before the headers', silent],
    ['in a body, also after a garbage collection', headersOnly],
  ])('ends a request %s', async (_place, given) => {
    answer = given
    const { http, closing } = open()
    const calling = new AbortController()
    const { signal } = calling
    const read = async () => http.readJson(await http.send(url, { signal }), { signal })
    const reading = read()
    reading.catch(() => undefined)
    await new Promise((resolve) => server.once('request', resolve))
    await forget()
    ;(code === 'CLOSED' ? closing : calling).abort()
    await expect(reading).rejects.toMatchObject({ code })
  })
})

test.each([
  ['headers', silent],
  ['a JSON body', headersOnly],
])('a timeout ends the wait for %s', async (_name, given) => {
  answer = given
  const { http } = open(200)
  await expect(http.send(url).then((got) => http.readJson(got))).rejects.toMatchObject({ code: 'TIMEOUT' })
})

test('a body that the caller reads may take longer than the timeout', async () => {
  const parts = ['a', 'b', 'c', 'd']
  answer = (response) => {
    const timer = setInterval(() => {
      response.write(parts.shift())
      if (parts.length > 0) return
      clearInterval(timer)
      response.end()
    }, 150)
    response.flushHeaders()
  }
  const { http } = open(400)
  expect(await (await http.send(url)).text()).toBe('abcd')
})

test.each([
  ['an address without a server', () => open().http.send('http://127.0.0.1:1')],
  [
    'a body that is cut',
    async () => {
      const { http } = open()
      answer = (response) => {
        response.writeHead(200, { 'content-length': '100' })
        response.write('{')
        setImmediate(() => response.destroy())
      }
      return http.readJson(await http.send(url))
    },
  ],
])('%s is UNREACHABLE', async (_name, call) => {
  await expect(call()).rejects.toMatchObject({ code: 'UNREACHABLE' })
})
