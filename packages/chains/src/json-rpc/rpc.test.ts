import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'
import { ChainUnavailable } from '../family'
import { createJsonRpc, type Dialect, type Inquiry, MethodMissing, RpcError } from './rpc'
import { startAnsweringNode, startNode } from './testing/node'

function* megabytes() {
  for (;;) yield Buffer.alloc(1024 * 1024, 0x20)
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const Count = z.int().transform(BigInt)

/** Of nodes that answer `chain` and `height`. */
const dialect: Dialect = {
  identity: {
    question: { method: 'chain', params: [] },
    problem: (result) => (result === 'test-1' ? undefined : `is on ${String(result)}`),
  },
  height: { question: { method: 'height', params: [] }, read: (result) => Count.safeParse(result).data },
  maxBatch: 20,
  lacksMethod: ({ code }) => code === -32601,
  wordsOf: ({ message, data }) => (typeof data === 'string' ? `${message}: ${data}` : message),
}

type Answer = Parameters<typeof startAnsweringNode>[0]
type Rpc = ReturnType<typeof createJsonRpc>

/** A node of the chain test-1 that answers 7 to what it is asked, unless `answer` says otherwise. */
async function node(answer: Answer = () => ({ result: 7 }), chain = 'test-1') {
  const started = await startAnsweringNode((message) =>
    message.method === 'chain' ? { result: chain } : answer(message),
  )
  closing.push(() => started.close())
  return started
}
const asked = (requests: { method: string }[][]) => requests.flat().map(({ method }) => method)

function rpcWithin(rpcTimeoutMs: number, ...rpcUrls: string[]): Rpc {
  const rpc = createJsonRpc({ name: 'test-net', rpcUrls, rpcTimeoutMs }, dialect)
  closing.push(() => rpc.close())
  return rpc
}
const rpcTo = (...rpcUrls: string[]): Rpc => rpcWithin(10_000, ...rpcUrls)
const ask = (rpc: Rpc) => rpc.ask({ schema: Count, method: 'height', params: [] })
const echo = <T>(rpc: Rpc, schema: z.ZodType<T>, params: unknown[]) =>
  rpc.ask({ schema, method: 'echo', params })

/** Of `count` questions that go to `others` first, whether they may be done: told of each refusal, then of each answer. */
async function mayBeDoneBefore(others: string[], count: number): Promise<unknown[]> {
  const refusing = await node(() => ({ error: { code: 5, message: 'no' } }))
  const seen: unknown[] = []
  const askAll = async (last: string) => {
    const rpc = rpcTo(...others, last)
    const question: Inquiry<bigint> = {
      schema: Count,
      method: 'height',
      params: [],
      settles: ({ code }) => code === 5,
      doubt: (height, mayBeDone) => (height === 6n ? 'no use' : void seen.push(mayBeDone)),
    }
    const answers = Array.from({ length: count }, () => rpc.ask(question))
    for (const answer of await Promise.allSettled(answers))
      if (answer.status === 'rejected') seen.push((answer.reason as RpcError).mayBeDone)
  }
  await askAll(refusing.url)
  await askAll((await node()).url)
  return seen
}

describe('JSON-RPC', () => {
  test('asks in order, and goes on to the next endpoint when one is away', async () => {
    const second = await node()
    const rpc = rpcTo('http://127.0.0.1:9', second.url)
    expect(await ask(rpc)).toBe(7n)

    const first = await node(() => ({ result: 1 }))
    expect(await ask(rpcTo(first.url, second.url))).toBe(1n)
  })

  test('asks for the chain once, and never uses an endpoint of another', async () => {
    const wrong = await node(() => ({ result: 666 }), 'other-1')
    const right = await node()
    const rpc = rpcTo(wrong.url, right.url)
    expect(await Promise.all([ask(rpc), ask(rpc)])).toEqual([7n, 7n])
    expect(await ask(rpc)).toBe(7n)
    expect(asked(wrong.requests)).toEqual(['chain'])
    expect(asked(right.requests).filter((method) => method === 'chain')).toHaveLength(1)
    await expect(ask(rpcTo(wrong.url))).rejects.toThrow('endpoint 1 is on other-1')
  })

  test('leaves an endpoint whose chain stands still for one whose chain goes on, and comes back to it', async () => {
    let [first, second, isStill] = [1n, 101n, false]
    const height = (block: bigint) => ({ result: Number(block) })
    const [primary, other] = [
      await node(() => height(isStill ? first : ++first)),
      await node(() => height(++second)),
    ]
    const rpc = createJsonRpc(
      { name: 'test-net', rpcUrls: [primary.url, other.url], rpcTimeoutMs: 10_000 },
      dialect,
      20,
    )
    closing.push(() => rpc.close())
    async function askedUntil(isIt: (block: bigint) => boolean) {
      const deadline = performance.now() + 20_000
      while (!isIt(await ask(rpc))) {
        if (performance.now() > deadline) throw new Error('it goes on asking the wrong one')
        await delay(5)
      }
    }
    await askedUntil((block) => block < 100n)
    isStill = true
    await askedUntil((block) => block > 100n)
    isStill = false
    await askedUntil((block) => block < 100n)
  })

  test('sends what is asked at once in one request, and no more than nodes take in it', async () => {
    const { url, requests } = await node(({ params }) => ({ result: params[0] }))
    const rpc = rpcTo(url)
    const numbers = Array.from({ length: 45 }, (_, i) => i)
    const answers = await Promise.all(numbers.map((i) => echo(rpc, Count, [i])))
    expect(answers).toEqual(numbers.map(BigInt))
    expect(requests.map((messages) => messages.length)).toEqual([1, 20, 20, 5])
  })

  test('asks one by one where an endpoint takes no batches', async () => {
    const single = await startNode((messages, response, body) => {
      const [{ method, id } = { method: '', id: 0 }] = messages
      const answer = body.startsWith('[')
        ? { id: null, error: { code: -32600, message: 'batches are not supported' } }
        : { id, result: method === 'chain' ? 'test-1' : 7 }
      response.end(JSON.stringify(answer))
    })
    closing.push(() => single.close())
    const rpc = rpcTo(single.url)
    expect(await Promise.all([ask(rpc), ask(rpc), ask(rpc)])).toEqual([7n, 7n, 7n])
  })

  test('reads what together is longer than an answer may be, but for what is so by itself', async () => {
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

  test('matches answers to questions by id, in whatever order they come', async () => {
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

  test('says that a method is missing where every endpoint says so, and only then', async () => {
    const without = await node(() => ({ error: { code: -32601, message: 'method not found' } }))
    const busy = await node(() => ({ error: { code: -32005, message: 'limit exceeded' } }))
    await expect(ask(rpcTo(without.url, without.url))).rejects.toThrow(MethodMissing)
    await expect(ask(rpcTo(without.url, busy.url))).rejects.not.toThrow(MethodMissing)
    await expect(ask(rpcTo(without.url, 'http://127.0.0.1:9'))).rejects.not.toThrow(MethodMissing)
    expect(await ask(rpcTo(without.url, (await node()).url))).toBe(7n)

    const unclear = await node(() => ({ error: { code: -32600, message: 'Invalid request' } }))
    await expect(ask(rpcTo(unclear.url))).rejects.not.toThrow(MethodMissing)
  })

  test.each<[string, (respond: ServerResponse) => void]>([
    ['never answers', () => undefined],
    ['drips', (response) => response.write('[')],
    ['answers HTTP 503', (response) => response.writeHead(503).end('{}')],
    ['answers HTTP 429', (response) => response.writeHead(429).end('{}')],
    ['answers HTML', (response) => response.end('<html>')],
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
    const problem = await ask(rpcWithin(1_000, url)).catch((error: unknown) => error)
    expect(Date.now() - started).toBeLessThan(5_000)
    expect(problem).toBeInstanceOf(ChainUnavailable)
    expect((problem as Error).message).toMatch(/^test-net cannot be reached: endpoint 1 /)
    expect((problem as Error).message).not.toMatch(/secret|127\.0\.0\.1/)

    expect(await ask(rpcWithin(1_000, url, (await node()).url))).toBe(7n)
  })

  test.each<[string, (respond: ServerResponse) => void]>([
    ['never answers', () => undefined],
    ['never ends its answer', (response) => response.write('{')],
  ])('tells how long it waited for an endpoint that %s', async (_, respond) => {
    const slow = await startNode((_, response) => respond(response))
    closing.push(() => slow.close())
    await expect(ask(rpcWithin(300, slow.url))).rejects.toThrow('endpoint 1 gave no answer within 300 ms')
  })

  test('reads no more of an answer than it can bear', async () => {
    const endless = await startNode((_, response) => void pipeline(megabytes, response, () => undefined))
    closing.push(() => endless.close())
    await expect(ask(rpcWithin(20_000, endless.url))).rejects.toThrow('answers with more than 8388608 bytes')
  })

  test('remembers which endpoint answered, and comes back when that one fails', async () => {
    const [first, second] = [await node(), await node()]
    const rpc = rpcTo('http://127.0.0.1:9', first.url, second.url)
    await ask(rpc)
    await first.close()
    expect(await ask(rpc)).toBe(7n)
    expect(asked(second.requests)).toContain('height')
  })

  test('keeps no more questions than it can bear', async () => {
    const rpc = rpcWithin(20_000, (await node()).url)
    const answers = await Promise.allSettled(Array.from({ length: 6_000 }, () => ask(rpc)))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []))
    expect(refused).toHaveLength(1_000)
    expect(new Set(refused)).toEqual(
      new Set(['ChainUnavailable: test-net is asked faster than it answers; try again later']),
    )
    expect(await ask(rpc)).toBe(7n)
  })

  test('rejects what is open when it is closed', async () => {
    const silent = await startNode(() => undefined)
    closing.push(() => silent.close())
    const rpc = rpcWithin(20_000, silent.url)
    const open = ask(rpc)
    setImmediate(() => rpc.close())
    await expect(open).rejects.toThrow(ChainUnavailable)
  })

  test('takes a refusal that settles the matter from whoever says it, and goes on from any other', async () => {
    const refusing = await node(() => ({ error: { code: 5, message: 'no', data: 'such thing' } }))
    const rpc = rpcTo(refusing.url, (await node()).url)
    const question = { schema: Count, method: 'height', params: [] }
    await expect(rpc.ask({ ...question, settles: ({ code }) => code === 5 })).rejects.toThrow(
      new RpcError(5, 'no: such thing'),
    )
    expect(await rpc.ask({ ...question, settles: ({ code }) => code === 6 })).toBe(7n)
  })

  test.each<[string, (id: number, response: ServerResponse) => void]>([
    ['loses its answer', (_, response) => response.destroy()],
    ['answers nonsense', (id, response) => response.end(JSON.stringify({ id, result: 'seven' }))],
    ['answers no use', (id, response) => response.end(JSON.stringify({ id, result: 6 }))],
    [
      'settles nothing by its error',
      (id, response) => response.end(JSON.stringify({ id, error: { code: -32603, message: 'Internal' } })),
    ],
  ])(
    'takes an endpoint that %s for one that may have done what it was asked, alone or one by one',
    async (_, respond) => {
      const odd = await startNode(([{ method, id } = { method: '', id: 0 }], response, body) => {
        const error = { code: -32600, message: 'batches are not supported' }
        if (body.startsWith('[')) response.end(JSON.stringify({ id: null, error }))
        else if (method === 'chain') response.end(JSON.stringify({ id, result: 'test-1' }))
        else respond(id, response)
      })
      closing.push(() => odd.close())
      expect(await mayBeDoneBefore([odd.url], 1)).toEqual([true, true])
      expect(await mayBeDoneBefore([odd.url], 2)).toEqual([true, true, true, true])
    },
  )

  test('takes nothing for done where no other endpoint was asked before, or only one that lacks the method', async () => {
    const without = await node(() => ({ error: { code: -32601, message: 'method not found' } }))
    expect(await mayBeDoneBefore([], 1)).toEqual([false, false])
    expect(await mayBeDoneBefore([without.url], 2)).toEqual([false, false, false, false])
  })

  test('asks the next endpoint where an answer of the right shape is no use, and tells why', async () => {
    const [odd, sound] = [await node(() => ({ result: 6 })), await node()]
    const question = {
      schema: Count,
      method: 'height',
      params: { by: 'name' },
      doubt: (count: bigint) => (count === 6n ? 'an even height' : undefined),
    }
    expect(await rpcTo(odd.url, sound.url).ask(question)).toBe(7n)
    await expect(rpcTo(odd.url).ask(question)).rejects.toThrow(
      'endpoint 1 answers height with an even height',
    )
    expect(sound.requests.flat().at(-1)?.params).toEqual({ by: 'name' })
  })
})
