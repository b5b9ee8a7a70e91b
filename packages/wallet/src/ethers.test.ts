import { Contract, Interface, Transaction, Wallet, type JsonRpcApiProvider } from 'ethers'
import { TollgateError } from './errors'
import { tollgateProvider, type TollgateProviderOptions } from './ethers'
import { createNode, limitReached, NodeFailure, watchConsole } from './testing/node'

const address = '0x00000000000000000000000000000000000000AA'
const hash = `0x${'11'.repeat(32)}`
const abi = [
  'function pay(uint256) view returns (bool)',
  'error Short(uint256 missing)',
  'event Paid(address by)',
]

let watch: ReturnType<typeof watchConsole>
const opened: JsonRpcApiProvider[] = []
beforeEach(() => (watch = watchConsole()))
afterEach(async () => {
  for (const provider of opened.splice(0)) provider.destroy()
  await watch.stop()
  expect(watch.lines).toEqual([])
})

function open(
  send: (chain: string, body: unknown) => Promise<unknown>,
  options: TollgateProviderOptions = {},
  chain: string | number = 84532,
) {
  const provider = tollgateProvider({ send }, chain, { cacheTimeout: -1, pollingInterval: 1, ...options })
  opened.push(provider)
  return provider
}

test('a chain given by its id is not asked for it', async () => {
  const node = createNode({ eth_getBalance: () => '0x5' })
  const provider = open(node.send)
  expect((await provider.getNetwork()).chainId).toBe(84532n)
  expect(await provider.getBalance(address)).toBe(5n)
  expect([node.methods(), [...node.chains]]).toEqual([['eth_getBalance'], ['eip155:84532']])
})

test('a chain given by name is asked for its id once', async () => {
  const node = createNode({ eth_chainId: () => '0x14a34', eth_getBalance: () => '0x5' })
  const provider = open(node.send, {}, 'base-sepolia')
  await Promise.all([provider.getNetwork(), provider.getBalance(address)])
  for (let i = 0; i < 2; i++) expect((await provider.getNetwork()).chainId).toBe(84532n)
  expect(provider._network.chainId).toBe(84532n)
  expect(node.methods()).toEqual(['eth_chainId', 'eth_getBalance'])
})

test('calls of one moment are one request, and answers in another order reach their calls', async () => {
  const node = createNode({ eth_getBalance: ([of]: [string]) => of })
  const provider = open(node.send)
  const addresses = [1, 2, 3].map((number) => `0x${String(number).padStart(40, '0')}`)
  expect(await Promise.all(addresses.map((each) => provider.getBalance(each)))).toEqual([1n, 2n, 3n])
  expect(node.sent.length).toBe(1)
})

test('a batch that the node refuses as a whole rejects each call with the node’s error', async () => {
  const error = { code: -32005, message: 'batch too large' }
  const provider = open(() => Promise.resolve({ jsonrpc: '2.0', id: null, error }))
  const settled = await Promise.allSettled([provider.getBalance(address), provider.getCode(address)])
  for (const each of settled) expect(each).toMatchObject({ status: 'rejected', reason: { error } })
})

test('a revert is decoded with the contract’s errors', async () => {
  const data = new Interface(abi).encodeErrorResult('Short', [7n])
  const node = createNode({
    eth_call: () => {
      throw new NodeFailure({ code: 3, message: 'execution reverted', data })
    },
  })
  const call = new Contract(address, abi, open(node.send)).getFunction('pay')(1n)
  await expect(call).rejects.toMatchObject({ code: 'CALL_EXCEPTION', revert: { name: 'Short', args: [7n] } })
})

describe('a refused payment rejects the call with the TollgateError, after one request', () => {
  const refusal = limitReached()
  const cases: [string, string | number, (provider: JsonRpcApiProvider) => Promise<unknown>][] = [
    ['a balance', 84532, (provider) => provider.getBalance(address)],
    [
      'a contract call',
      84532,
      (provider) => new Contract(address, abi, provider).getFunction('pay')(1n) as Promise<unknown>,
    ],
    ['the network of a named chain', 'base-sepolia', (provider) => provider.getNetwork()],
    [
      'the network of a named chain, of a provider that was started',
      'base-sepolia',
      (provider) => {
        provider._start()
        return provider.getNetwork()
      },
    ],
    ['the balance on a named chain', 'base-sepolia', (provider) => provider.getBalance(address)],
    ['the id', 'base-sepolia', (provider) => provider.send('eth_chainId', [])],
    ['waiting for a transaction', 84532, (provider) => provider.waitForTransaction(hash)],
  ]
  test.each(cases)('%s', async (_, chain, ask) => {
    const send = jest.fn(() => Promise.reject(refusal))
    await expect(ask(open(send, {}, chain))).rejects.toBe(refusal)
    expect(send).toHaveBeenCalledTimes(1)
  })
})

describe('polling', () => {
  const events: [string, Parameters<JsonRpcApiProvider['on']>[0]][] = [
    ['block', 'block'],
    ['finalized', 'finalized'],
    ['pending', 'pending'],
    ['a log', { address }],
    ['a transaction', hash],
  ]

  test.each(events)(
    'of %s ends with a refused payment, which is emitted as an error, once',
    async (_, event) => {
      const refusal = limitReached()
      const send = jest.fn(() => Promise.reject(refusal))
      const provider = open(send)
      const timers = jest.spyOn(provider, '_setTimeout')
      const errors: unknown[] = []
      const ended = new Promise<void>((resolve) => {
        void provider.on('error', (error) => {
          errors.push(error)
          resolve()
        })
      })
      await provider.on(event, () => undefined)
      await ended
      const listeners = async () =>
        (await provider.listenerCount(event)) + (await provider.listenerCount('block'))
      for (let turn = 0; turn < 100 && (await listeners()) > 0; turn++) await new Promise(setImmediate)
      expect(await listeners()).toBe(0)
      expect(errors).toEqual([refusal])
      expect(timers).not.toHaveBeenCalled()
    },
  )

  test('goes on after a gateway that was unreachable', async () => {
    let calls = 0
    const node = createNode({
      eth_blockNumber: () => {
        if (++calls === 2) throw new TollgateError('UNREACHABLE', 'away')
        return calls
      },
    })
    const provider = open(node.send)
    const errors: unknown[] = []
    await provider.on('error', (error) => errors.push(error))
    const blocks: number[] = []
    await new Promise<void>((resolve) => {
      void provider.on('block', (block: number) => {
        if (blocks.push(block) === 3) resolve()
      })
    })
    expect(blocks).toEqual([2, 3, 4])
    expect(errors).toEqual([expect.objectContaining({ code: 'UNREACHABLE' })])
  })

  test('emits the logs of each block once, also if the node has them late', async () => {
    let block = 10
    const log = (blockNumber: number) => ({
      address,
      blockNumber,
      blockHash: hash,
      transactionHash: hash,
      transactionIndex: 0,
      logIndex: 0,
      topics: [],
      data: '0x',
      removed: false,
    })
    const node = createNode({
      eth_blockNumber: () => `0x${(block++).toString(16)}`,
      eth_getLogs: ([filter]: [{ fromBlock: string; toBlock: string }]) => {
        const [from, to] = [Number(filter.fromBlock), Number(filter.toBlock)]
        // That of block 12 is indexed with block 15.
        if (from <= 12 && to >= 15) return [log(12)]
        return from <= 20 && to >= 20 ? [log(20)] : []
      },
    })
    const provider = open(node.send)
    const seen: number[] = []
    await new Promise<void>((resolve) => {
      void provider.on({ address }, ({ blockNumber }: { blockNumber: number }) => {
        if (seen.push(blockNumber) === 2) resolve()
      })
    })
    expect(seen).toEqual([12, 20])
  })
})

const receipt = (blockNumber: number, transactionHash = hash) => ({
  transactionHash,
  blockNumber,
  blockHash: hash,
  from: address,
  to: address,
  transactionIndex: 0,
  logs: [],
  logsBloom: '0x',
  cumulativeGasUsed: 1,
  gasUsed: 1,
  effectiveGasPrice: 1,
  status: 1,
  type: 2,
})

describe('wait() of a transaction that was sent', () => {
  const refusal = limitReached()

  /** The block number is each time one higher. Once a look for the receipt finds it, the block number is refused. */
  async function send({ minedAtLook = Infinity, pollingInterval = 1 } = {}) {
    const signed = await Wallet.createRandom().signTransaction({
      to: address,
      chainId: 84532,
      nonce: 1,
      gasLimit: 21_000n,
      gasPrice: 1n,
    })
    const transactionHash = Transaction.from(signed).hash ?? ''
    let block = 1
    let denied = ''
    let looks = 0
    const unless = (method: string, answer: () => unknown) => () => {
      if (method === denied) throw refusal
      return answer()
    }
    const node = createNode({
      eth_sendRawTransaction: () => transactionHash,
      eth_blockNumber: unless('eth_blockNumber', () => ++block),
      eth_getTransactionCount: () => '0x0',
      eth_getTransactionReceipt: unless('eth_getTransactionReceipt', () => {
        if (++looks < minedAtLook) return null
        denied = 'eth_blockNumber'
        return receipt(block, transactionHash)
      }),
    })
    const provider = open(node.send, { pollingInterval })
    const sent = await provider.broadcastTransaction(signed)
    return { provider, sent, deny: (method: string) => (denied = method) }
  }

  test.each(['eth_blockNumber', 'eth_getTransactionReceipt'])('rejects if %s is refused', async (method) => {
    const { provider, sent, deny } = await send()
    const rejected = expect(sent.wait()).rejects.toBe(refusal)
    await new Promise<void>((resolve) => void provider.once('block', () => resolve()))
    deny(method)
    await rejected
  })

  test('needs no call after the receipt', async () => {
    const { sent } = await send({ minedAtLook: 2, pollingInterval: 60_000 })
    expect(await sent.wait()).toMatchObject({ status: 1 })
  })
})

describe('waitForTransaction', () => {
  test('asks again after a failure of the gateway, until the transaction is mined deep enough', async () => {
    let block = 4
    const answers = [
      () => null,
      () => {
        throw new TollgateError('UNREACHABLE', 'away')
      },
      () => {
        throw new NodeFailure({ code: -32603, message: 'no provider answered' })
      },
    ]
    const node = createNode({
      eth_blockNumber: () => ++block,
      eth_getTransactionReceipt: () => answers.shift()?.() ?? receipt(5),
    })
    expect(await open(node.send).waitForTransaction(hash, 3)).toMatchObject({ blockNumber: 5 })
    expect([answers.length, block]).toEqual([0, 7])
  })

  test('rejects when its time is over', async () => {
    const provider = open(createNode({ eth_getTransactionReceipt: () => null }).send)
    await expect(provider.waitForTransaction(hash, 1, 20)).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  test('rejects with an error of the node', async () => {
    const error = { code: -32602, message: 'invalid hash' }
    const node = createNode({
      eth_getTransactionReceipt: () => {
        throw new NodeFailure(error)
      },
    })
    await expect(open(node.send).waitForTransaction('0x12')).rejects.toMatchObject({ error })
  })
})
