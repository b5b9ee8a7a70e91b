import { AbiCoder } from 'ethers'
import { ChainUnavailable } from '../errors'
import { Quantity } from './rpc-schemas'
import { MethodMissing, RpcError } from '../json-rpc/sender'
import { createRpc, type Rpc } from './rpc'
import { startJsonRpcNode } from '../json-rpc/testing/node'

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

type Respond = Parameters<typeof startJsonRpcNode>[0]

/** A node of chain 84532 that responds 7 to every request, unless `respond` says otherwise. */
async function node(respond: Respond = () => ({ result: '0x7' }), chainId = '0x14a34') {
  const started = await startJsonRpcNode((message) =>
    message.method === 'eth_chainId' ? { result: chainId } : respond(message),
  )
  closing.push(() => started.close())
  return started
}

function rpcTo(...rpcUrls: string[]): Rpc {
  const rpc = createRpc({ name: 'base-sepolia', chainId: '84532', rpcUrls, rpcTimeoutMs: 10_000 })
  closing.push(() => rpc.close())
  return rpc
}
const getHeight = (rpc: Rpc) => rpc.call(Quantity, 'eth_blockNumber', [])

describe('rpc', () => {
  test('never uses an endpoint of another or an unknown chain', async () => {
    const [wrong, right] = [await node(() => ({ result: '0x666' }), '0x1'), await node()]
    expect(await getHeight(rpcTo(wrong.url, right.url))).toBe(7n)
    await expect(getHeight(rpcTo(wrong.url))).rejects.toThrow('endpoint 1 is on chain 1, not 84532')
    const silent = await node(undefined, 'base')
    await expect(getHeight(rpcTo(silent.url))).rejects.toThrow('endpoint 1 does not return its chain id')
  })

  test('sends at most twenty requests in a batch', async () => {
    const { url, requests } = await node()
    const rpc = rpcTo(url)
    await Promise.all(Array.from({ length: 45 }, () => getHeight(rpc)))
    expect(requests.map((messages) => messages.length)).toEqual([1, 20, 20, 5])
  })

  test.each<[string, Respond]>([
    ['a malformed result', () => ({ result: 'seven' })],
    ['no result', () => ({})],
    ['an overload error', () => ({ error: { code: -32005, message: 'limit exceeded' } })],
    ['a missing block', () => ({ error: { code: -32000, message: 'header not found' } })],
    ['an internal error', () => ({ error: { code: -32603, message: 'Internal error' } })],
  ])('tries the next endpoint after %s', async (_, respond) => {
    const [first, second] = [await node(respond), await node()]
    expect(await getHeight(rpcTo(first.url, second.url))).toBe(7n)
    await expect(getHeight(rpcTo(first.url))).rejects.toThrow(ChainUnavailable)
  })

  test.each(['number', 'timestamp'])(
    'tries the next endpoint after a block whose %s is no safe integer',
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
      const max = BigInt(Number.MAX_SAFE_INTEGER)
      expect(await rpcTo(odd.url, sound.url).newestBlock()).toMatchObject({ number: max, timestamp: max })
      await expect(rpcTo(odd.url).newestBlock()).rejects.toThrow(ChainUnavailable)
    },
  )

  test('distinguishes a refusal from a node that cannot respond', async () => {
    const { url } = await node(() => ({ error: { code: 3, message: 'execution reverted: no' } }))
    const rpc = rpcTo(url)
    await expect(rpc.tryCall(Quantity, 'eth_call', [])).rejects.toThrow(RpcError)
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
  ])('%s %s means that a call ran out of gas', async (code, message) => {
    const { url } = await node(() => ({ error: { code, message } }))
    const reverted = expect.stringMatching(/gas/i) as unknown
    expect(await rpcTo(url).run(Quantity, 'eth_call', [])).toEqual({ reverted })
  })

  const errorString = new AbiCoder().encode(['string'], ['Pausable: paused'])
  const data = `0x08c379a0${errorString.slice(2)}`
  test.each<[string, { message: string; data?: string }, string]>([
    ['the node’s message', { message: 'execution reverted: Pausable: paused' }, 'Pausable: paused'],
    ['the data of its error', { message: 'execution reverted', data }, 'Pausable: paused'],
    ['data after a word', { message: 'reverted', data: `Reverted ${data}` }, 'Pausable: paused'],
    [
      'a message of an older node',
      { message: 'VM Exception while processing transaction: revert Pausable: paused' },
      'Pausable: paused',
    ],
    [
      'the selector of a custom error',
      { message: 'execution reverted', data: '0xd93c0665' },
      'reverted with error 0xd93c0665',
    ],
    [
      'the selector in the message',
      { message: 'execution reverted: custom error 0xfb8f41b2: 0000271000' },
      'reverted with error 0xfb8f41b2',
    ],
    ['nothing, if there is no reason', { message: 'execution reverted' }, 'execution reverted'],
    ['malformed data', { message: 'execution reverted: no', data: '0x08c379a0ff' }, 'no'],
  ])('reads the revert reason from %s', async (_, error, reverted) => {
    const { url } = await node(() => ({ error: { code: 3, ...error } }))
    expect(await rpcTo(url).run(Quantity, 'eth_call', [])).toEqual({ reverted })
  })

  test('a revert reason that reads like a node error is still a revert', async () => {
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
  ])('%s %s means a missing method, but a rate limit with such words does not', async (code, message) => {
    const without = await node(() => ({ error: { code, message } }))
    await expect(getHeight(rpcTo(without.url))).rejects.toThrow(MethodMissing)
    await expect(rpcTo(without.url).run(Quantity, 'eth_call', [])).rejects.toThrow(MethodMissing)
    const limited = 'method eth_x not allowed: rate limit'
    const busy = await node(() => ({ error: { code: -32005, message: limited } }))
    await expect(getHeight(rpcTo(without.url, busy.url))).rejects.not.toThrow(MethodMissing)
  })

  test.each([
    [-32602, 'invalid params'],
    [-32000, 'the database is closed'],
    [-32000, 'execution aborted (timeout = 5s)'],
    [4200, 'Method disabled'],
  ])('after %s %s, uses the next endpoint', async (code, message) => {
    const first = await node(() => ({ error: { code, message } }))
    const second = await node(() => ({ error: { code: 3, message: 'execution reverted: no' } }))
    expect(await getHeight(rpcTo(first.url, (await node()).url))).toBe(7n)
    expect(await rpcTo(first.url, second.url).run(Quantity, 'eth_call', [])).toEqual({
      reverted: 'no',
    })
    // `tryCall` rejects with the first refusal.
    const refusal = rpcTo(first.url, (await node()).url).tryCall(Quantity, 'eth_sendRawTransaction', [])
    await expect(refusal).rejects.toThrow(new RpcError(code, message))
  })
})
