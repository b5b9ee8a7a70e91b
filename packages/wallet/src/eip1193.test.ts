import { BrowserProvider } from 'ethers'
import { createPublicClient, custom, UnauthorizedProviderError, type BaseError } from 'viem'
import { TollgateError } from './errors'
import { isTollgateError } from './errors'
import { tollgateEip1193 } from './eip1193'
import { createNode, limitReached, NodeFailure, watchConsole } from './testing/node'

const reverted = { code: 3, message: 'execution reverted: no', data: '0x08c379a0' }

test('an error of the node keeps its code, message and data', async () => {
  const node = createNode({
    eth_call: () => {
      throw new NodeFailure(reverted)
    },
  })
  const call = tollgateEip1193(node, 84532).request({ method: 'eth_call', params: [] })
  await expect(call).rejects.toMatchObject({ name: 'ProviderRpcError', ...reverted })
})

test.each([
  'eth_accounts',
  'eth_requestAccounts',
  'eth_sendTransaction',
  'eth_signTypedData_v4',
  'personal_sign',
  'wallet_switchEthereumChain',
  'eth_subscribe',
])('%s is 4200, with what to do, and not sent', async (method) => {
  const node = createNode({})
  await expect(tollgateEip1193(node, 84532).request({ method })).rejects.toMatchObject({
    code: 4200,
    message: expect.stringMatching(/Sign with the wallet|Poll instead/) as string,
  })
  expect(node.sent).toEqual([])
})

test('connect is emitted once, with the first answer; disconnect once, when the Tollgate is closed', async () => {
  const node = createNode({ eth_blockNumber: () => '0x1' })
  let isClosed = false
  const provider = tollgateEip1193(
    {
      send: (chain, body) =>
        isClosed ? Promise.reject(new TollgateError('CLOSED', 'closed')) : node.send(chain, body),
    },
    'eip155:84532',
  )
  const heard: unknown[] = []
  const removed = () => heard.push('removed')
  provider.on('connect', removed).removeListener('connect', removed)
  provider.on('connect', (info: unknown) => heard.push(info))
  provider.on('disconnect', ({ code }: { code: number }) => heard.push(code))
  for (let i = 0; i < 2; i++) await provider.request({ method: 'eth_blockNumber' })
  isClosed = true
  for (let i = 0; i < 2; i++)
    await expect(provider.request({ method: 'eth_blockNumber' })).rejects.toMatchObject({ code: 4900 })
  expect(heard).toEqual([{ chainId: '0x14a34' }, 4900])
})

describe('a refused payment surfaces once, without a second try, a line on the console or a rejection left behind', () => {
  let watch: ReturnType<typeof watchConsole>
  beforeEach(() => (watch = watchConsole()))
  afterEach(async () => {
    await watch.stop()
    expect(watch.lines).toEqual([])
  })
  const refusing = () => {
    const send = jest.fn(() => Promise.reject(limitReached()))
    return { send, provider: tollgateEip1193({ send }, 84532) }
  }

  test('under BrowserProvider of ethers', async () => {
    const { send, provider } = refusing()
    const ethers = new BrowserProvider(provider)
    await expect(ethers.getBlockNumber()).rejects.toMatchObject({
      error: { code: 4100, data: { code: 'LIMIT_REACHED' } },
    })
    expect(send).toHaveBeenCalledTimes(1)
    ethers.destroy()
  })

  test('under custom() of viem', async () => {
    const { send, provider } = refusing()
    const viem = createPublicClient({ transport: custom(provider) })
    const error = await viem.getBlockNumber().catch((thrown: unknown) => thrown as BaseError)
    expect(error).toBeInstanceOf(UnauthorizedProviderError)
    expect((error as BaseError).walk(isTollgateError)).toMatchObject({ code: 'LIMIT_REACHED' })
    expect(send).toHaveBeenCalledTimes(1)
  })
})
