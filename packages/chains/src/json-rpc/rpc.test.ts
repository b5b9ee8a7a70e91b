import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { ChainUnavailable } from '../errors'
import { type NodeProtocol } from './endpoint'
import { createJsonRpc } from './rpc'
import { type TypedRequest, MethodMissing, observing, RpcError } from './sender'
import { startJsonRpcNode, startNode } from './testing/node'

function* megabytes() {
  for (;;) yield Buffer.alloc(1024 * 1024, 0x20)
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const Count = z.int().transform(BigInt)

/** Of nodes with the methods `chain` and `height`. */
const protocol: NodeProtocol = {
  identity: {
    request: { method: 'chain', params: [] },
    problem: (result) => (result === 'test-1' ? undefined : `is on ${String(result)}`),
  },
  height: { request: { method: 'height', params: [] }, read: (result) => Count.safeParse(result).data },
  maxBatch: 20,
  lacksMethod: ({ code }) => code === -32601,
  errorMessage: ({ message, data }) => (typeof data === 'string' ? `${message}: ${data}` : message),
}

type Respond = Parameters<typeof startJsonRpcNode>[0]
type Rpc = ReturnType<typeof createJsonRpc>

/** A node of the chain test-1 that responds 7 to every request, unless `respond` says otherwise. */
async function node(respond: Respond = () => ({ result: 7 }), chain = 'test-1') {
  const started = await startJsonRpcNode((message) =>
    message.method === 'chain' ? { result: chain } : respond(message),
  )
  closing.push(() => started.close())
  return started
}
const methodsOf = (requests: { method: string }[][]) => requests.flat().map(({ method }) => method)

function rpcWithin(rpcTimeoutMs: number, ...rpcUrls: string[]): Rpc {
  const rpc = createJsonRpc({ name: 'test-net', rpcUrls, rpcTimeoutMs }, protocol)
  closing.push(() => rpc.close())
  return rpc
}
const rpcTo = (...rpcUrls: string[]): Rpc => rpcWithin(10_000, ...rpcUrls)
const getHeight = (rpc: Pick<Rpc, 'request'>) => rpc.request({ schema: Count, method: 'height', params: [] })
const echo = <T>(rpc: Rpc, schema: z.ZodType<T>, params: unknown[]) =>
  rpc.request({ schema, method: 'echo', params })

/** The `mayHaveExecuted` of `count` requests that go to `others` first: of each error, then of each result. */
async function mayHaveExecutedBefore(others: string[], count: number): Promise<unknown[]> {
  const refusing = await node(() => ({ error: { code: 5, message: 'no' } }))
  const values: unknown[] = []
  const sendAll = async (last: string) => {
    const rpc = rpcTo(...others, last)
    const request: TypedRequest<bigint> = {
      schema: Count,
      method: 'height',
      params: [],
      isFinal: ({ code }) => code === 5,
      findProblem: (height, mayHaveExecuted) =>
        height === 6n ? 'no use' : void values.push(mayHaveExecuted),
    }
    const answers = Array.from({ length: count }, () => rpc.request(request))
    for (const answer of await Promise.allSettled(answers))
      if (answer.status === 'rejected') values.push((answer.reason as RpcError).mayHaveExecuted)
  }
  await sendAll(refusing.url)
  await sendAll((await node()).url)
  return values
}

describe('JSON-RPC', () => {
  test('tries the endpoints in order, and the next one if an endpoint is unreachable', async () => {
    const second = await node()
    const rpc = rpcTo('http://127.0.0.1:9', second.url)
    expect(await getHeight(rpc)).toBe(7n)

    const first = await node(() => ({ result: 1 }))
    expect(await getHeight(rpcTo(first.url, second.url))).toBe(1n)
  })

  test('checks the chain once, and never uses an endpoint of another chain', async () => {
    const wrong = await node(() => ({ result: 666 }), 'other-1')
    const right = await node()
    const rpc = rpcTo(wrong.url, right.url)
    expect(await Promise.all([getHeight(rpc), getHeight(rpc)])).toEqual([7n, 7n])
    expect(await getHeight(rpc)).toBe(7n)
    expect(methodsOf(wrong.requests)).toEqual(['chain'])
    expect(methodsOf(right.requests).filter((method) => method === 'chain')).toHaveLength(1)
    await expect(getHeight(rpcTo(wrong.url))).rejects.toThrow('endpoint 1 is on other-1')
  })

  test('leaves an endpoint whose height stalls, and returns to it when the height grows again', async () => {
    let [first, second, isStill] = [1n, 101n, false]
    const height = (block: bigint) => ({ result: Number(block) })
    const [primary, other] = [
      await node(() => height(isStill ? first : ++first)),
      await node(() => height(++second)),
    ]
    const rpc = createJsonRpc(
      { name: 'test-net', rpcUrls: [primary.url, other.url], rpcTimeoutMs: 10_000 },
      protocol,
      20,
    )
    closing.push(() => rpc.close())
    async function heightUntil(isExpected: (block: bigint) => boolean) {
      const deadline = performance.now() + 20_000
      while (!isExpected(await getHeight(rpc))) {
        if (performance.now() > deadline) throw new Error('still uses the wrong endpoint')
        await delay(5)
      }
    }
    await heightUntil((block) => block < 100n)
    isStill = true
    await heightUntil((block) => block > 100n)
    isStill = false
    await heightUntil((block) => block < 100n)
  })

  test('batches concurrent requests, up to the limit of nodes', async () => {
    const { url, requests } = await node(({ params }) => ({ result: params[0] }))
    const rpc = rpcTo(url)
    const numbers = Array.from({ length: 45 }, (_, i) => i)
    const answers = await Promise.all(numbers.map((i) => echo(rpc, Count, [i])))
    expect(answers).toEqual(numbers.map(BigInt))
    expect(requests.map((messages) => messages.length)).toEqual([1, 20, 20, 5])
  })

  test('sends requests one by one if an endpoint takes no batches', async () => {
    const single = await startNode((messages, response, body) => {
      const [{ method, id } = { method: '', id: 0 }] = messages
      const answer = body.startsWith('[')
        ? { id: null, error: { code: -32600, message: 'batches are not supported' } }
        : { id, result: method === 'chain' ? 'test-1' : 7 }
      response.end(JSON.stringify(answer))
    })
    closing.push(() => single.close())
    const rpc = rpcTo(single.url)
    expect(await Promise.all([getHeight(rpc), getHeight(rpc), getHeight(rpc)])).toEqual([7n, 7n, 7n])
  })

  test('a batch that exceeds the size limit fails only the responses that exceed it alone', async () => {
    const long = '00'.repeat(2 * 1024 * 1024)
    const { url } = await node(({ params: [kind] }) => {
      if (kind === 'short') return { result: 7 }
      return { result: kind === 'long' ? long : long.repeat(3) }
    })
    const rpc = rpcTo(url)
    const answers = await Promise.allSettled([
      echo(rpc, Count, ['short']),
      echo(rpc, z.string(), ['long']),
      echo(rpc, z.string(), ['too long']),
    ])
    expect(answers).toEqual([
      { status: 'fulfilled', value: 7n },
      { status: 'fulfilled', value: long },
      { status: 'rejected', reason: expect.any(ChainUnavailable) as Error },
    ])
  })

  test('matches responses to requests by id, in any order', async () => {
    const shuffled = await startNode((messages, response, body) => {
      const answers = messages.map(({ id, method, params }) => ({
        id,
        result: method === 'chain' ? 'test-1' : params[0],
      }))
      response.end(JSON.stringify(body.startsWith('[') ? answers.reverse() : answers[0]))
    })
    closing.push(() => shuffled.close())
    const rpc = rpcTo(shuffled.url)
    expect(await Promise.all([1, 2, 3].map((n) => echo(rpc, Count, [n])))).toEqual([1n, 2n, 3n])
  })

  test('rejects with MethodMissing only if every endpoint lacks the method', async () => {
    const without = await node(() => ({ error: { code: -32601, message: 'method not found' } }))
    const busy = await node(() => ({ error: { code: -32005, message: 'limit exceeded' } }))
    await expect(getHeight(rpcTo(without.url, without.url))).rejects.toThrow(MethodMissing)
    await expect(getHeight(rpcTo(without.url, busy.url))).rejects.not.toThrow(MethodMissing)
    await expect(getHeight(rpcTo(without.url, 'http://127.0.0.1:9'))).rejects.not.toThrow(MethodMissing)
    expect(await getHeight(rpcTo(without.url, (await node()).url))).toBe(7n)

    const unclear = await node(() => ({ error: { code: -32600, message: 'Invalid request' } }))
    await expect(getHeight(rpcTo(unclear.url))).rejects.not.toThrow(MethodMissing)
  })

  test.each<[string, (respond: ServerResponse) => void]>([
    ['never responds', () => undefined],
    ['drips', (response) => response.write('[')],
    ['responds with HTTP 503', (response) => response.writeHead(503).end('{}')],
    ['responds with HTTP 429', (response) => response.writeHead(429).end('{}')],
    ['responds with HTML', (response) => response.end('<html>')],
    ['redirects', (response) => response.writeHead(302, { location: 'http://127.0.0.1:9' }).end()],
    ['resets the connection', (response) => response.destroy()],
  ])('gives up on an endpoint that %s, within its timeout', async (_, respond) => {
    const server = createServer((_, response) => respond(response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    closing.push(() => {
      server.closeAllConnections()
      server.close()
    })
    const { port } = server.address() as AddressInfo
    const url = `http://127.0.0.1:${port}/v2/secret-key`
    const started = Date.now()
    const problem = await getHeight(rpcWithin(1_000, url)).catch((error: unknown) => error)
    expect(Date.now() - started).toBeLessThan(5_000)
    expect(problem).toBeInstanceOf(ChainUnavailable)
    expect((problem as Error).message).toMatch(/^test-net is unavailable: endpoint 1 /)
    expect((problem as Error).message).not.toMatch(/secret|127\.0\.0\.1/)

    expect(await getHeight(rpcWithin(1_000, url, (await node()).url))).toBe(7n)
  })

  test.each<[string, (respond: ServerResponse) => void]>([
    ['never responds', () => undefined],
    ['never ends its response', (response) => response.write('{')],
  ])('names the timeout of an endpoint that %s', async (_, respond) => {
    const slow = await startNode((_, response) => respond(response))
    closing.push(() => slow.close())
    await expect(getHeight(rpcWithin(300, slow.url))).rejects.toThrow(
      'endpoint 1 gave no response within 300 ms',
    )
  })

  test('limits the size of a response', async () => {
    const endless = await startNode((_, response) => void pipeline(megabytes, response, () => undefined))
    closing.push(() => endless.close())
    await expect(getHeight(rpcWithin(20_000, endless.url))).rejects.toThrow(
      'responded with more than 8388608 bytes',
    )
  })

  test('prefers the last endpoint that responded, until it fails', async () => {
    const [first, second] = [await node(), await node()]
    const rpc = rpcTo('http://127.0.0.1:9', first.url, second.url)
    await getHeight(rpc)
    await first.close()
    expect(await getHeight(rpc)).toBe(7n)
    expect(methodsOf(second.requests)).toContain('height')
  })

  test('limits the number of pending requests', async () => {
    const rpc = rpcWithin(20_000, (await node()).url)
    const answers = await Promise.allSettled(Array.from({ length: 6_000 }, () => getHeight(rpc)))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []))
    expect(refused).toHaveLength(1_000)
    expect(new Set(refused)).toEqual(
      new Set(['ChainUnavailable: test-net has too many pending requests; try again later']),
    )
    expect(await getHeight(rpc)).toBe(7n)
  })

  test('rejects pending requests when it is closed', async () => {
    const silent = await startNode(() => undefined)
    closing.push(() => silent.close())
    const rpc = rpcWithin(20_000, silent.url)
    const open = getHeight(rpc)
    setImmediate(() => rpc.close())
    await expect(open).rejects.toThrow(ChainUnavailable)
  })

  test('stops at a final error, and tries the next endpoint after any other', async () => {
    const refusing = await node(() => ({ error: { code: 5, message: 'no', data: 'such thing' } }))
    const rpc = rpcTo(refusing.url, (await node()).url)
    const request = { schema: Count, method: 'height', params: [] }
    await expect(rpc.request({ ...request, isFinal: ({ code }) => code === 5 })).rejects.toThrow(
      new RpcError(5, 'no: such thing'),
    )
    expect(await rpc.request({ ...request, isFinal: ({ code }) => code === 6 })).toBe(7n)
  })

  test.each<[string, (id: number, response: ServerResponse) => void]>([
    ['drops the connection', (_, response) => response.destroy()],
    ['gives a malformed result', (id, response) => response.end(JSON.stringify({ id, result: 'seven' }))],
    ['gives a result of no use', (id, response) => response.end(JSON.stringify({ id, result: 6 }))],
    [
      'gives an error that is not final',
      (id, response) => response.end(JSON.stringify({ id, error: { code: -32603, message: 'Internal' } })),
    ],
  ])('an endpoint that %s may have executed the request, alone or in a batch', async (_, respond) => {
    const odd = await startNode(([{ method, id } = { method: '', id: 0 }], response, body) => {
      const error = { code: -32600, message: 'batches are not supported' }
      if (body.startsWith('[')) response.end(JSON.stringify({ id: null, error }))
      else if (method === 'chain') response.end(JSON.stringify({ id, result: 'test-1' }))
      else respond(id, response)
    })
    closing.push(() => odd.close())
    expect(await mayHaveExecutedBefore([odd.url], 1)).toEqual([true, true])
    expect(await mayHaveExecutedBefore([odd.url], 2)).toEqual([true, true, true, true])
  })

  test('nothing may have executed if no endpoint was tried before, or only one that lacks the method', async () => {
    const without = await node(() => ({ error: { code: -32601, message: 'method not found' } }))
    expect(await mayHaveExecutedBefore([], 1)).toEqual([false, false])
    expect(await mayHaveExecutedBefore([without.url], 2)).toEqual([false, false, false, false])
  })

  test('tries the next endpoint if a well-formed result cannot be used, and names the reason', async () => {
    const [odd, sound] = [await node(() => ({ result: 6 })), await node()]
    const request = {
      schema: Count,
      method: 'height',
      params: { by: 'name' },
      findProblem: (count: bigint) => (count === 6n ? 'an even height' : undefined),
    }
    expect(await rpcTo(odd.url, sound.url).request(request)).toBe(7n)
    await expect(rpcTo(odd.url).request(request)).rejects.toThrow(
      'endpoint 1 responded to height with an even height',
    )
    expect(sound.requests.flat().at(-1)?.params).toEqual({ by: 'name' })
  })
})

test('a request is observed, with its method and the node that responded, and with neither URL nor message', async () => {
  const refusing = await node(() => ({ error: { code: -32602, message: 'a secret' } }))
  const { url } = await node()
  const seen: unknown[] = []
  const observe = (method: string) => (response: object) => void seen.push({ method, ...response })
  const open = (...rpcUrls: string[]) => {
    const rpc = createJsonRpc({ name: 'test-net', rpcUrls, rpcTimeoutMs: 10_000 }, protocol)
    closing.push(() => rpc.close())
    return { request: observing(rpc.request, observe) }
  }
  await getHeight(open(refusing.url, `${url}/a-key-in-the-path`))
  await getHeight(open(refusing.url)).catch(() => undefined)
  expect(seen).toEqual([
    { method: 'height', node: new URL(url).host, isError: false },
    { method: 'height', isError: true },
  ])
})
