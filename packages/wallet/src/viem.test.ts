import {
  ContractFunctionRevertedError,
  createPublicClient,
  encodeErrorResult,
  parseAbi,
  UserRejectedRequestError,
  type BaseError,
} from 'viem'
import { baseSepolia } from 'viem/chains'
import { isTollgateError, TollgateError, type ErrorCode } from './errors'
import { createNode, limitReached, NodeFailure, watchConsole } from './testing/node'
import { tollgateTransport } from './viem'

const address = '0x00000000000000000000000000000000000000aa'

let watch: ReturnType<typeof watchConsole>
beforeEach(() => (watch = watchConsole()))
afterEach(async () => {
  await watch.stop()
  expect(watch.lines).toEqual([])
})

test('calls the client’s chain, or the one that is named, and asks for no chain id', async () => {
  const node = createNode({ eth_blockNumber: () => '0x10' })
  const client = createPublicClient({ chain: baseSepolia, transport: tollgateTransport(node) })
  expect([await client.getChainId(), await client.getBlockNumber()]).toEqual([84532, 16n])
  const named = createPublicClient({ transport: tollgateTransport(node, 'base') })
  await named.getBlockNumber({ cacheTime: 0 })
  expect([node.methods(), [...node.chains]]).toEqual([
    ['eth_blockNumber', 'eth_blockNumber'],
    ['eip155:84532', 'base'],
  ])
  expect(() => createPublicClient({ transport: tollgateTransport(node) })).toThrow('a chain')
})

test('a batch is one request, and answers in another order reach their calls', async () => {
  const node = createNode({ eth_getBalance: ([of]: [string]) => of, eth_blockNumber: () => '0x10' })
  const client = createPublicClient({
    chain: baseSepolia,
    transport: tollgateTransport(node, undefined, { batch: true }),
  })
  const [block, one, two] = await Promise.all([
    client.getBlockNumber(),
    client.getBalance({ address: '0x0000000000000000000000000000000000000001' }),
    client.getBalance({ address: '0x0000000000000000000000000000000000000002' }),
  ])
  expect([block, one, two, node.sent.length]).toEqual([16n, 1n, 2n, 1])
})

test('a revert is decoded with the contract’s errors', async () => {
  const abi = parseAbi(['function pay(uint256) returns (bool)', 'error Short(uint256 missing)'])
  const data = encodeErrorResult({ abi, errorName: 'Short', args: [7n] })
  const node = createNode({
    eth_call: () => {
      throw new NodeFailure({ code: 3, message: 'execution reverted', data })
    },
  })
  const client = createPublicClient({ chain: baseSepolia, transport: tollgateTransport(node) })
  const call = client.simulateContract({ address, abi, functionName: 'pay', args: [1n] })
  const error = (await call.catch((thrown: unknown) => thrown)) as BaseError
  const revert = error.walk((inner) => inner instanceof ContractFunctionRevertedError)
  expect(revert).toMatchObject({ data: { errorName: 'Short', args: [7n] } })
  expect(node.sent.length).toBe(1)
})

describe.each([false, true])('with batch: %p', (batch) => {
  const clientOf = (send: () => Promise<unknown>) =>
    createPublicClient({
      chain: baseSepolia,
      transport: tollgateTransport({ send }, undefined, { batch, retryDelay: 1 }),
    })

  test('a refused payment surfaces once: viem does not call again', async () => {
    const send = jest.fn(() => Promise.reject(limitReached()))
    const error = (await clientOf(send)
      .getBlockNumber()
      .catch((thrown: unknown) => thrown)) as BaseError
    expect(error.walk(isTollgateError)).toMatchObject({ code: 'LIMIT_REACHED' })
    expect(error.message).toContain('above the limit of the day')
    expect(send).toHaveBeenCalledTimes(1)
  })

  test.each<[ErrorCode, number]>([
    ['PAYMENT_REFUSED', 1],
    ['PAYMENT_UNKNOWN', 1],
    ['SIGNATURE_REFUSED', 1],
    ['CLOSED', 1],
    ['PAYMENT_PENDING', 4],
    ['UNREACHABLE', 4],
  ])('after %s the call is sent %i times', async (code, times) => {
    const send = jest.fn(() => Promise.reject(new TollgateError(code, 'x')))
    await expect(clientOf(send).getBlockNumber()).rejects.toThrow()
    expect(send).toHaveBeenCalledTimes(times)
  })

  test('a signature that the user refused is viem’s UserRejectedRequestError', async () => {
    const client = clientOf(() => Promise.reject(new TollgateError('SIGNATURE_REFUSED', 'no')))
    await expect(client.getBlockNumber()).rejects.toBeInstanceOf(UserRejectedRequestError)
  })

  test('a refused read of a contract is no revert', async () => {
    const abi = parseAbi(['function balanceOf(address) view returns (uint256)'])
    const client = clientOf(() => Promise.reject(limitReached()))
    const call = client.readContract({ address, abi, functionName: 'balanceOf', args: [address] })
    const error = (await call.catch((thrown: unknown) => thrown)) as BaseError
    expect(error.walk((inner) => inner instanceof ContractFunctionRevertedError)).toBeNull()
    expect(error.walk(isTollgateError)).toMatchObject({ code: 'LIMIT_REACHED' })
  })
})
