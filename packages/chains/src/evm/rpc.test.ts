import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { ChainUnavailable } from '../family'
import { Data, Quantity } from './answers'
import { createRpc, MethodMissing, type Rpc, RpcError } from './rpc'
import { startAnsweringNode, startNode } from './testing/node'

function* megabytes() {
  for (;;) yield Buffer.alloc(1024 * 1024, 0x20)
}

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Answer = Parameters<typeof startAnsweringNode>[0]

/** A node of chain 84532 that answers 7 to what it is asked, unless `answer` says otherwise. */
async function node(answer: Answer = () => ({ result: '0x7' }), chainId = '0x14a34') {
  const started = await startAnsweringNode((message) =>
    message.method === 'eth_chainId' ? { result: chainId } : answer(message),
  )
  closing.push(() => started.close())
  return started
}
const asked = (requests: { method: string }[][]) => requests.flat().map(({ method }) => method)

function rpcWithin(rpcTimeoutMs: number, ...rpcUrls: string[]): Rpc {
  const rpc = createRpc({ name: 'base-sepolia', chainId: '84532', rpcUrls, rpcTimeoutMs })
  closing.push(() => rpc.close())
  return rpc
}
const rpcTo = (...rpcUrls: string[]): Rpc => rpcWithin(10_000, ...rpcUrls)
const ask = (rpc: Rpc) => rpc.call(Quantity, 'eth_blockNumber', [])

describe('rpc', () => {
  test('asks in order, and goes on to the next endpoint when one is away', async () => {
    const second = await node()
    const rpc = rpcTo('http://127.0.0.1:9', second.url)
    expect(await ask(rpc)).toBe(7n)

    const first = await node(() => ({ result: '0x1' }))
    expect(await ask(rpcTo(first.url, second.url))).toBe(1n)
  })

  test('asks for the chain once, and never uses an endpoint of another', async () => {
    const wrong = await node(() => ({ result: '0x666' }), '0x1')
    const right = await node()
    const rpc = rpcTo(wrong.url, right.url)
    expect(await Promise.all([ask(rpc), ask(rpc)])).toEqual([7n, 7n])
    expect(await ask(rpc)).toBe(7n)
    expect(asked(wrong.requests)).toEqual(['eth_chainId'])
    expect(asked(right.requests).filter((method) => method === 'eth_chainId')).toHaveLength(1)
    await expect(ask(rpcTo(wrong.url))).rejects.toThrow('endpoint 1 is on chain 1, not 84532')
  })

  test('leaves an endpoint whose chain stands still for one whose chain goes on, and comes back to it', async () => {
    let [first, second, isStill] = [1n, 101n, false]
    const height = (block: bigint) => ({ result: `0x${block.toString(16)}` })
    const [primary, other] = [
      await node(() => height(isStill ? first : ++first)),
      await node(() => height(++second)),
    ]
    const rpc = createRpc(
      { name: 'base-sepolia', chainId: '84532', rpcUrls: [primary.url, other.url], rpcTimeoutMs: 10_000 },
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

  test('sends what is asked at once in one request, and no more than twenty in it', async () => {
    const { url, requests } = await node(({ params }) => ({ result: params[0] }))
    const rpc = rpcTo(url)
    const numbers = Array.from({ length: 45 }, (_, i) => i)
    const answers = await Promise.all(
      numbers.map((i) => rpc.call(Quantity, 'eth_echo', [`0x${i.toString(16)}`])),
    )
    expect(answers).toEqual(numbers.map(BigInt))
    expect(requests.map((messages) => messages.length)).toEqual([1, 20, 20, 5])
  })

  test('asks one by one where an endpoint takes no batches', async () => {
    const single = await startNode((messages, response, body) => {
      const [{ method, id } = { method: '', id: 0 }] = messages
      const answer = body.startsWith('[')
        ? { id: null, error: { code: -32600, message: 'batches are not supported' } }
        : { id, result: method === 'eth_chainId' ? '0x14a34' : '0x7' }
      response.end(JSON.stringify(answer))
    })
    closing.push(() => single.close())
    const rpc = rpcTo(single.url)
    expect(await Promise.all([ask(rpc), ask(rpc), ask(rpc)])).toEqual([7n, 7n, 7n])
  })

  test('reads what together is longer than an answer may be, but for what is so by itself', async () => {
    const long = `0x${'00'.repeat(2 * 1024 * 1024)}`
    const { url } = await node(({ params: [kind] }) => {
      if (kind === 'short') return { result: '0x7' }
      return { result: kind === 'long' ? long : long.repeat(3) }
    })
    const rpc = rpcTo(url)
    const answers = await Promise.allSettled([
      rpc.call(Quantity, 'eth_echo', ['short']),
      rpc.call(Data, 'eth_echo', ['long']),
      rpc.call(Data, 'eth_echo', ['too long']),
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
        result: method === 'eth_chainId' ? '0x14a34' : params[0],
      }))
      response.end(JSON.stringify(body.startsWith('[') ? answers.reverse() : answers[0]))
    })
    closing.push(() => shuffled.close())
    const rpc = rpcTo(shuffled.url)
    expect(await Promise.all(['0x1', '0x2', '0x3'].map((n) => rpc.call(Quantity, 'eth_echo', [n])))).toEqual([
      1n,
      2n,
      3n,
    ])
  })

  test.each<[string, Answer]>([
    ['nonsense', () => ({ result: 'seven' })],
    ['no result', () => ({})],
    ['that it is overloaded', () => ({ error: { code: -32005, message: 'limit exceeded' } })],
    ['that it lags', () => ({ error: { code: -32000, message: 'header not found' } })],
    ['an internal error', () => ({ error: { code: -32603, message: 'Internal error' } })],
  ])('asks the next endpoint when one answers %s', async (_, answer) => {
    const [first, second] = [await node(answer), await node()]
    expect(await ask(rpcTo(first.url, second.url))).toBe(7n)
    await expect(ask(rpcTo(first.url))).rejects.toThrow(ChainUnavailable)
  })

  test.each(['number', 'timestamp'])(
    'asks the next endpoint when one answers a block whose %s no number holds',
    async (field) => {
      const block = {
        number: '0x1fffffffffffff',
        hash: `0x${'ab'.repeat(32)}`,
        timestamp: '0x1fffffffffffff',
      }
      const [odd, sound] = [
        await node(() => ({ result: { ...block, [field]: '0x20000000000000' } })),
        await node(() => ({ result: block })),
      ]
      const most = BigInt(Number.MAX_SAFE_INTEGER)
      expect(await rpcTo(odd.url, sound.url).newestBlock()).toMatchObject({ number: most, timestamp: most })
      await expect(rpcTo(odd.url).newestBlock()).rejects.toThrow(ChainUnavailable)
    },
  )

  test('tells a node that says no from one that does not answer', async () => {
    const { url } = await node(() => ({ error: { code: 3, message: 'execution reverted: no' } }))
    const rpc = rpcTo(url)
    await expect(rpc.ask(Quantity, 'eth_call', [])).rejects.toThrow(RpcError)
    await expect(rpc.call(Quantity, 'eth_call', [])).rejects.toThrow(ChainUnavailable)
    expect(await rpc.run(Quantity, 'eth_call', [])).toEqual({ reverted: 'execution reverted: no' })

    const gas = await node(() => ({ error: { code: -32603, message: 'EVM error OutOfGas' } }))
    expect(await rpcTo(gas.url).run(Quantity, 'eth_call', [])).toEqual({ reverted: 'EVM error OutOfGas' })

    const other = await node(() => ({ error: { code: -32602, message: 'invalid params' } }))
    await expect(rpcTo(other.url).run(Quantity, 'eth_call', [])).rejects.toThrow(ChainUnavailable)
  })

  test('takes what a contract says while it fails for what it is, whatever the words', async () => {
    const { url } = await node(() => ({ error: { code: 3, message: 'execution reverted: rate limit' } }))
    expect(await rpcTo(url).run(Quantity, 'eth_call', [])).toEqual({
      reverted: 'execution reverted: rate limit',
    })
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

  test.each([
    [-32600, 'Unsupported method: eth_x on X'],
    [-32000, 'the method eth_x does not exist/is not available'],
    [-32003, 'Method eth_x is not supported'],
    [-32602, 'too many arguments, want at most 2'],
    [4200, 'Method disabled'],
  ])(
    'takes %s %s for a missing method, and a limit by such words for no such thing',
    async (code, message) => {
      const without = await node(() => ({ error: { code, message } }))
      await expect(ask(rpcTo(without.url))).rejects.toThrow(MethodMissing)
      await expect(rpcTo(without.url).run(Quantity, 'eth_call', [])).rejects.toThrow(MethodMissing)
      const limited = 'method eth_x not allowed: rate limit'
      const busy = await node(() => ({ error: { code: -32005, message: limited } }))
      await expect(ask(rpcTo(without.url, busy.url))).rejects.not.toThrow(MethodMissing)
    },
  )

  test.each([
    [-32602, 'invalid params'],
    [-32000, 'the database is closed'],
    [-38013, 'intrinsic gas too low'],
    [4200, 'Method disabled'],
  ])('goes on from %s %s to what another endpoint says', async (code, message) => {
    const first = await node(() => ({ error: { code, message } }))
    const second = await node(() => ({ error: { code: 3, message: 'execution reverted: no' } }))
    expect(await ask(rpcTo(first.url, (await node()).url))).toBe(7n)
    expect(await rpcTo(first.url, second.url).run(Quantity, 'eth_call', [])).toEqual({
      reverted: 'execution reverted: no',
    })
    // What may be refused is refused by the first that says no.
    const refusal = rpcTo(first.url, (await node()).url).ask(Quantity, 'eth_sendRawTransaction', [])
    await expect(refusal).rejects.toThrow(new RpcError(code, message))
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
    expect((problem as Error).message).toMatch(/^base-sepolia cannot be reached: endpoint 1 /)
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
    expect(asked(second.requests)).toContain('eth_blockNumber')
  })

  test('keeps no more questions than it can bear', async () => {
    const rpc = rpcWithin(20_000, (await node()).url)
    const answers = await Promise.allSettled(Array.from({ length: 6_000 }, () => ask(rpc)))
    const refused = answers.flatMap((answer) => (answer.status === 'rejected' ? [String(answer.reason)] : []))
    expect(refused).toHaveLength(1_000)
    expect(new Set(refused)).toEqual(
      new Set(['ChainUnavailable: base-sepolia is asked faster than it answers; try again later']),
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
})
