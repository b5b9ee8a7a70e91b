import { ChainUnavailable } from '../family'
import { Quantity } from './answers'
import { MethodMissing, RpcError } from '../json-rpc/rpc'
import { createRpc, type Rpc } from './rpc'
import { startAnsweringNode } from '../json-rpc/testing/node'

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

function rpcTo(...rpcUrls: string[]): Rpc {
  const rpc = createRpc({ name: 'base-sepolia', chainId: '84532', rpcUrls, rpcTimeoutMs: 10_000 })
  closing.push(() => rpc.close())
  return rpc
}
const ask = (rpc: Rpc) => rpc.call(Quantity, 'eth_blockNumber', [])

describe('rpc', () => {
  test('never uses an endpoint of another chain, or one that does not tell its own', async () => {
    const [wrong, right] = [await node(() => ({ result: '0x666' }), '0x1'), await node()]
    expect(await ask(rpcTo(wrong.url, right.url))).toBe(7n)
    await expect(ask(rpcTo(wrong.url))).rejects.toThrow('endpoint 1 is on chain 1, not 84532')
    const silent = await node(undefined, 'base')
    await expect(ask(rpcTo(silent.url))).rejects.toThrow('endpoint 1 does not tell its chain')
  })

  test('puts no more than twenty questions in one request', async () => {
    const { url, requests } = await node()
    const rpc = rpcTo(url)
    await Promise.all(Array.from({ length: 45 }, () => ask(rpc)))
    expect(requests.map((messages) => messages.length)).toEqual([1, 20, 20, 5])
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
})
