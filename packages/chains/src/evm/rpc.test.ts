import { AbiCoder } from 'ethers'
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
    expect(await rpc.run(Quantity, 'eth_call', [])).toEqual({ reverted: 'no' })

    const gas = await node(() => ({ error: { code: -32603, message: 'EVM error OutOfGas' } }))
    expect(await rpcTo(gas.url).run(Quantity, 'eth_call', [])).toEqual({ reverted: 'EVM error OutOfGas' })

    const other = await node(() => ({ error: { code: -32602, message: 'invalid params' } }))
    await expect(rpcTo(other.url).run(Quantity, 'eth_call', [])).rejects.toThrow(ChainUnavailable)
  })

  test.each([
    [-32000, 'intrinsic gas too low: have 22000, want 22516 (supplied gas 22000)'],
    [-32000, 'err: intrinsic gas too low: have 22000, want 22516 (supplied gas 22000)'],
    [-32000, 'out of gas'],
    [-32000, 'gas required exceeds allowance (22000)'],
    [-32000, 'insufficient gas for floor data gas cost: have 22000, want 23700'],
    [-32003, 'intrinsic gas too low'],
    [-32015, 'VM execution error. Out of gas'],
    [-32003, 'call gas cost exceeds the gas limit'],
    [-32004, 'INTRINSIC_GAS_EXCEEDS_GAS_LIMIT'],
    [-32603, 'Intrinsic gas exceeds gas limit'],
    [-32010, 'gas limit below intrinsic gas'],
    [3, 'execution reverted: out of gas'],
  ])('takes %s %s for the verdict that the gas of a call does not suffice', async (code, message) => {
    const { url } = await node(() => ({ error: { code, message } }))
    const reverted = expect.stringMatching(/gas/i) as unknown
    expect(await rpcTo(url).run(Quantity, 'eth_call', [])).toEqual({ reverted })
  })

  const errorString = new AbiCoder().encode(['string'], ['Pausable: paused'])
  const data = `0x08c379a0${errorString.slice(2)}`
  test.each<[string, { message: string; data?: string }, string]>([
    ['the node’s message', { message: 'execution reverted: Pausable: paused' }, 'Pausable: paused'],
    ['the data of its error', { message: 'execution reverted', data }, 'Pausable: paused'],
    ['data that a word stands before', { message: 'reverted', data: `Reverted ${data}` }, 'Pausable: paused'],
    [
      'a message of an older node',
      { message: 'VM Exception while processing transaction: revert Pausable: paused' },
      'Pausable: paused',
    ],
    [
      'an error without words, of which it tells which',
      { message: 'execution reverted', data: '0xd93c0665' },
      'reverted with error 0xd93c0665',
    ],
    [
      'the same in its message alone',
      { message: 'execution reverted: custom error 0xfb8f41b2: 0000271000' },
      'reverted with error 0xfb8f41b2',
    ],
    ['nothing, where it says nothing', { message: 'execution reverted' }, 'execution reverted'],
    ['data that it made up', { message: 'execution reverted: no', data: '0x08c379a0ff' }, 'no'],
  ])('tells why a contract fails in its own words, by %s', async (_, error, reverted) => {
    const { url } = await node(() => ({ error: { code: 3, ...error } }))
    expect(await rpcTo(url).run(Quantity, 'eth_call', [])).toEqual({ reverted })
  })

  test('takes what a contract says while it fails for what it is, whatever the words', async () => {
    const { url } = await node(() => ({ error: { code: 3, message: 'execution reverted: rate limit' } }))
    expect(await rpcTo(url).run(Quantity, 'eth_call', [])).toEqual({
      reverted: 'rate limit',
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
    [-32000, 'execution aborted (timeout = 5s)'],
    [4200, 'Method disabled'],
  ])('goes on from %s %s to what another endpoint says', async (code, message) => {
    const first = await node(() => ({ error: { code, message } }))
    const second = await node(() => ({ error: { code: 3, message: 'execution reverted: no' } }))
    expect(await ask(rpcTo(first.url, (await node()).url))).toBe(7n)
    expect(await rpcTo(first.url, second.url).run(Quantity, 'eth_call', [])).toEqual({
      reverted: 'no',
    })
    // What may be refused is refused by the first that says no.
    const refusal = rpcTo(first.url, (await node()).url).ask(Quantity, 'eth_sendRawTransaction', [])
    await expect(refusal).rejects.toThrow(new RpcError(code, message))
  })
})
