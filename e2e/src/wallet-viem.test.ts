import { fundWallet, USDC_ADDRESS } from '@tollgate/devnet'
import { tollgateEip1193 } from '@tollgate/wallet/eip1193'
import { tollgateTransport, type TollgateTransportOptions } from '@tollgate/wallet/viem'
import {
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  custom,
  decodeEventLog,
  formatUnits,
  parseAbi,
  parseEther,
  type BaseError,
  type Hex,
  type Transport,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { openRecordingTollgate, type RecordingTollgate } from './testing/recording-tollgate'
import { queryNode } from './testing/query-node'
import { startWorld, type World } from './testing/world'

const USDC = 5_000_000n
const usdc = {
  address: USDC_ADDRESS,
  abi: parseAbi([
    'function balanceOf(address) view returns (uint256)',
    'function transfer(address to, uint256 value) returns (bool)',
    'event Transfer(address indexed from, address indexed to, uint256 value)',
  ]),
} as const

let world: World
let tollgate: RecordingTollgate

beforeAll(async () => {
  world = await startWorld()
  tollgate = await openRecordingTollgate(world)
}, 120_000)
afterAll(() => world.stop(), 30_000)

/** The workspace has two copies of viem, for two versions of TypeScript, whose types differ. */
const transport = (options: TollgateTransportOptions = {}) => tollgateTransport(tollgate, undefined, options)

const clientOf = (through: Transport = transport()) =>
  createPublicClient({ chain: baseSepolia, transport: through, pollingInterval: 200, cacheTime: 0 })

const newAddress = () => privateKeyToAccount(generatePrivateKey()).address

/** An account with an ether and five USDC. */
async function funded(through: Transport = transport()) {
  const account = privateKeyToAccount(generatePrivateKey())
  await fundWallet(world.infrastructure.rpcUrl, account.address, { usdc: USDC, wei: parseEther('1') })
  return createWalletClient({ account, chain: baseSepolia, transport: through })
}

const node = (method: string, ...params: unknown[]) => queryNode(world.infrastructure.rpcUrl, method, params)

async function revertOf(call: Promise<unknown>) {
  const error = (await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )) as BaseError | undefined
  return error?.walk((inner) => inner instanceof ContractFunctionRevertedError)
}
const exceedsBalance = { reason: expect.stringContaining('exceeds balance') as string }

test('reads an account, fees, and a block with its transactions', async () => {
  const client = clientOf()
  const { address } = (await funded()).account
  expect(await client.getBalance({ address })).toBe(parseEther('1'))
  expect(await client.getTransactionCount({ address })).toBe(0)
  expect(await client.getChainId()).toBe(84532)
  expect((await client.estimateFeesPerGas()).maxFeePerGas).toBeGreaterThan(0n)
  const [log] = await client.getLogs({ address: USDC_ADDRESS, fromBlock: 0n })
  const block = await client.getBlock({ blockNumber: log!.blockNumber, includeTransactions: true })
  expect([block.hash, block.transactions[0]!.hash]).toEqual([log!.blockHash, log!.transactionHash])
})

test('calls a contract, and decodes the logs of its transfers', async () => {
  const client = clientOf()
  const { address } = (await funded()).account
  const balance = await client.readContract({
    ...usdc,
    functionName: 'balanceOf',
    args: [address],
  })
  expect(formatUnits(balance, 6)).toBe('5')
  const logs = await client.getContractEvents({
    ...usdc,
    eventName: 'Transfer',
    args: { to: address },
    fromBlock: 0n,
  })
  expect(logs.map(({ args }) => args)).toEqual([
    { from: expect.any(String) as Hex, to: address, value: USDC },
  ])
})

test('estimates, signs, sends and waits for a transaction', async () => {
  const client = clientOf()
  const sender = await funded()
  const to = newAddress()
  expect(await client.estimateGas({ account: sender.account, to, value: 1n })).toBe(21_000n)
  const hash = await sender.sendTransaction({ to, value: 7n })
  const receipt = await client.waitForTransactionReceipt({ hash, confirmations: 2 })
  expect([receipt.status, await client.getBalance({ address: to })]).toEqual(['success', 7n])
  expect(await node('eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })

  const request = await sender.prepareTransactionRequest({ to, value: 8n })
  const serializedTransaction = await sender.signTransaction(request)
  const second = await client.sendRawTransaction({ serializedTransaction })
  expect((await client.waitForTransactionReceipt({ hash: second })).status).toBe('success')
})

test('simulates and writes a contract, and decodes what it emitted', async () => {
  const client = clientOf()
  const sender = await funded()
  const to = newAddress()
  const { request } = await client.simulateContract({
    ...usdc,
    functionName: 'transfer',
    args: [to, 3n],
    account: sender.account,
  })
  const receipt = await client.waitForTransactionReceipt({ hash: await sender.writeContract(request) })
  const { topics, data } = receipt.logs[0]!
  expect(decodeEventLog({ abi: usdc.abi, topics, data })).toEqual({
    eventName: 'Transfer',
    args: { from: sender.account.address, to, value: 3n },
  })
})

test('decodes the revert of a call and of an estimate, without a second try', async () => {
  const client = clientOf()
  const { account } = await funded()
  const tooMuch = {
    ...usdc,
    functionName: 'transfer',
    args: [newAddress(), USDC * 2n],
    account,
  } as const
  const before = tollgate.sent.length
  expect(await revertOf(client.simulateContract(tooMuch))).toMatchObject(exceedsBalance)
  expect(await revertOf(client.estimateContractGas(tooMuch))).toMatchObject(exceedsBalance)
  const methods = tollgate.sent.slice(before).map((body) => (body as { method: string }).method)
  const reverted = methods.filter((method) => method === 'eth_call' || method === 'eth_estimateGas')
  expect(reverted).toEqual(['eth_call', 'eth_estimateGas'])
})

test('polls for block numbers and for the events of a contract', async () => {
  const client = clientOf()
  const sender = await funded()
  const to = newAddress()
  const stops: (() => void)[] = []
  const failures: Error[] = []
  const onError = (error: Error) => void failures.push(error)
  const blocks: bigint[] = []
  let atFirst: () => void
  const firstBlock = new Promise<void>((resolve) => (atFirst = resolve))
  const threeBlocks = new Promise<void>((resolve) => {
    const onBlockNumber = (block: bigint) => {
      if (blocks.push(block) === 1) atFirst()
      if (blocks.length === 3) resolve()
    }
    stops.push(client.watchBlockNumber({ onBlockNumber, onError, emitMissed: true }))
  })
  const heard = new Promise<unknown>((resolve) => {
    const watched = { ...usdc, eventName: 'Transfer', args: { to }, fromBlock: 0n } as const
    stops.push(client.watchContractEvent({ ...watched, onError, onLogs: ([log]) => resolve(log!.args) }))
  })
  await firstBlock
  await sender.writeContract({ ...usdc, functionName: 'transfer', args: [to, 4n] })
  expect(await heard).toEqual({ from: sender.account.address, to, value: 4n })
  await threeBlocks
  for (const stop of stops) stop()
  expect([blocks.slice(0, 3), failures]).toEqual([[0n, 1n, 2n].map((more) => blocks[0]! + more), []])
})

test('with batching the calls of one moment are one request', async () => {
  const { address } = (await funded()).account
  const client = clientOf(transport({ batch: true }))
  const before = tollgate.sent.length
  const answers = await Promise.all([
    client.getBalance({ address }),
    client.getTransactionCount({ address }),
    client.readContract({ ...usdc, functionName: 'balanceOf', args: [address] }),
    client.getChainId(),
  ])
  expect(answers).toEqual([parseEther('1'), 0, USDC, 84532])
  expect(tollgate.sent.slice(before).map((body) => (body as unknown[]).length)).toEqual([3])
})

test.each([
  { batch: { batchSize: 20 }, requests: 10 },
  { batch: false, requests: 200 },
])(
  'two hundred calls at once are answered, each its own, in $requests requests',
  async ({ batch, requests }) => {
    const client = clientOf(transport({ batch }))
    const holders = Array.from({ length: 200 }, newAddress)
    await Promise.all(
      holders.map((address, index) => node('anvil_setBalance', address, `0x${(index + 1).toString(16)}`)),
    )
    const before = tollgate.sent.length
    const balances = await Promise.all(holders.map((address) => client.getBalance({ address })))
    expect(balances).toEqual(holders.map((_, index) => BigInt(index + 1)))
    expect(tollgate.sent.length - before).toBe(requests)
  },
  60_000,
)

describe('custom(), over EIP-1193', () => {
  const injected = () => custom(tollgateEip1193(tollgate, 'base-sepolia'))

  test('reads, sends, and decodes a revert', async () => {
    const client = clientOf(injected())
    const sender = await funded(injected())
    const { address } = sender.account
    expect([await client.getChainId(), await client.getBalance({ address })]).toEqual([
      84532,
      parseEther('1'),
    ])
    const transfer = { ...usdc, functionName: 'transfer' } as const
    const hash = await sender.writeContract({ ...transfer, args: [newAddress(), 3n] })
    expect((await client.waitForTransactionReceipt({ hash })).status).toBe('success')
    const tooMuch = { ...transfer, args: [newAddress(), USDC * 2n], account: sender.account } as const
    expect(await revertOf(client.simulateContract(tooMuch))).toMatchObject(exceedsBalance)
  })

  test('has no accounts', async () => {
    const wallet = createWalletClient({ chain: baseSepolia, transport: injected() })
    await expect(wallet.requestAddresses()).rejects.toMatchObject({ code: 4200 })
  })
})
