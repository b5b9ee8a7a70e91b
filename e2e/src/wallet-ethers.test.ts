import { fundWallet, usdcAbi, USDC_ADDRESS } from '@tollgate/devnet'
import { tollgateEip1193 } from '@tollgate/wallet/eip1193'
import { tollgateProvider, type TollgateProviderOptions } from '@tollgate/wallet/ethers'
import {
  BrowserProvider,
  Contract,
  formatUnits,
  parseEther,
  parseUnits,
  Wallet,
  type ContractTransactionResponse,
  type EventLog,
  type JsonRpcApiProvider,
} from 'ethers'
import { openRecordingTollgate, type RecordingTollgate } from './testing/recording-tollgate'
import { queryNode } from './testing/query-node'
import { startWorld, type World } from './testing/world'

const CHAIN = 'eip155:84532'
const USDC = parseUnits('5', 6)

let world: World
let tollgate: RecordingTollgate
const opened: JsonRpcApiProvider[] = []

beforeAll(async () => {
  world = await startWorld()
  tollgate = await openRecordingTollgate(world)
}, 120_000)
afterEach(() => opened.splice(0).forEach((provider) => provider.destroy()))
afterAll(() => world.stop(), 30_000)

/** Reads fresh: ethers answers a repeated question from memory for a quarter of a second. */
function open(options: TollgateProviderOptions = {}) {
  const provider = tollgateProvider(tollgate, CHAIN, { cacheTimeout: -1, pollingInterval: 200, ...options })
  opened.push(provider)
  return provider
}

/** A wallet with an ether and five USDC. */
async function funded(provider: JsonRpcApiProvider) {
  const wallet = new Wallet(Wallet.createRandom().privateKey, provider)
  await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc: USDC, wei: parseEther('1') })
  return wallet
}

const node = (method: string, ...params: unknown[]) => queryNode(world.infrastructure.rpcUrl, method, params)
const tokenOf = (runner: JsonRpcApiProvider | Wallet) => new Contract(USDC_ADDRESS, usdcAbi, runner)
const transfer = (token: Contract, to: string, amount: bigint) =>
  token.getFunction('transfer')(to, amount) as Promise<ContractTransactionResponse>

test('reads an account, fees, and a block with its transactions', async () => {
  const provider = open()
  const { address } = await funded(provider)
  expect(await provider.getBalance(address)).toBe(parseEther('1'))
  expect(await provider.getTransactionCount(address)).toBe(0)
  expect((await provider.getCode(USDC_ADDRESS)).length).toBeGreaterThan(2)
  expect((await provider.getFeeData()).maxFeePerGas).toBeGreaterThan(0n)
  const [log] = await provider.getLogs({ address: USDC_ADDRESS, fromBlock: 0 })
  const block = await provider.getBlock(log!.blockNumber, true)
  const [first] = block!.prefetchedTransactions
  expect([block!.hash, first!.hash]).toEqual([log!.blockHash, log!.transactionHash])
  expect(await node('eth_getBlockByNumber', `0x${block!.number.toString(16)}`, false)).toMatchObject({
    hash: block!.hash,
  })
})

test('calls a contract, and decodes the logs of its transfers', async () => {
  const provider = open()
  const { address } = await funded(provider)
  const token = tokenOf(provider)
  const balance = (await token.getFunction('balanceOf')(address)) as bigint
  expect(formatUnits(balance, (await token.getFunction('decimals')()) as bigint)).toBe('5.0')
  const found = (await token.queryFilter(token.filters['Transfer']!(null, address), 0)) as EventLog[]
  expect(found.map(({ args }) => [args['to'], args['value']] as unknown)).toEqual([[address, USDC]])
})

test('estimates, signs, sends and waits for a transaction', async () => {
  const provider = open()
  const wallet = await funded(provider)
  const to = Wallet.createRandom().address
  expect(await provider.estimateGas({ from: wallet.address, to, value: 1n })).toBe(21_000n)
  const sent = await wallet.sendTransaction({ to, value: 7n })
  const receipt = await sent.wait()
  expect(receipt).toMatchObject({ status: 1, hash: sent.hash, from: wallet.address })
  expect(await provider.getBalance(to)).toBe(7n)
  expect(await node('eth_getTransactionReceipt', sent.hash)).toMatchObject({ status: '0x1' })

  const signed = await wallet.signTransaction(await wallet.populateTransaction({ to, value: 8n }))
  const { hash } = await provider.broadcastTransaction(signed)
  expect(await provider.waitForTransaction(hash)).toMatchObject({ status: 1, hash })
  expect(await provider.waitForTransaction(hash, 2)).toMatchObject({ status: 1, hash })
})

test('sends a transaction of a contract, waits for two confirmations, and decodes what it emitted', async () => {
  const provider = open()
  const wallet = await funded(provider)
  const token = tokenOf(wallet)
  const to = Wallet.createRandom().address
  const receipt = await (await transfer(token, to, 3n)).wait(2)
  const [log] = receipt!.logs
  expect(token.interface.parseLog(log!)).toMatchObject({ name: 'Transfer', args: [wallet.address, to, 3n] })
  expect(await receipt!.confirmations()).toBeGreaterThanOrEqual(2)
})

test('decodes the revert of a call, an estimate and a mined transaction', async () => {
  const provider = open()
  const wallet = await funded(provider)
  const token = tokenOf(wallet)
  const tooMuch = [wallet.address, USDC * 2n] as const
  const revert = { code: 'CALL_EXCEPTION', reason: expect.stringContaining('exceeds balance') as string }
  await expect(token.getFunction('transfer').staticCall(...tooMuch)).rejects.toMatchObject(revert)
  await expect(transfer(token, ...tooMuch)).rejects.toMatchObject(revert)
  const mined = await wallet.sendTransaction({
    ...(await token.getFunction('transfer').populateTransaction(...tooMuch)),
    gasLimit: 200_000n,
  })
  await expect(mined.wait()).rejects.toMatchObject({ code: 'CALL_EXCEPTION', receipt: { status: 0 } })
})

test('polls for blocks and for the events of a contract', async () => {
  const provider = open()
  const wallet = await funded(provider)
  const token = tokenOf(wallet)
  const to = Wallet.createRandom().address
  const blocks: number[] = []
  const threeBlocks = new Promise<void>((resolve) => {
    void provider.on('block', (block: number) => {
      if (blocks.push(block) === 3) resolve()
    })
  })
  const heard = new Promise<unknown[]>((resolve) => {
    void token.on(token.filters['Transfer']!(null, to), ({ args }: { args: unknown[] }) => resolve([...args]))
  })
  // The listener takes what comes after the current block.
  await new Promise<void>((resolve) => void provider.once('block', () => resolve()))
  await (await transfer(token, to, 4n)).wait()
  expect(await heard).toEqual([wallet.address, to, 4n])
  await threeBlocks
  expect(blocks).toEqual([blocks[0]!, blocks[0]! + 1, blocks[0]! + 2].concat(blocks.slice(3)))
})

test('the calls of one moment are one request, and none asks for the chain id', async () => {
  const provider = open()
  const { address } = await funded(provider)
  const before = tollgate.sent.length
  const [balance, count, token, network] = await Promise.all([
    provider.getBalance(address),
    provider.getTransactionCount(address),
    tokenOf(provider).getFunction('balanceOf')(address) as Promise<bigint>,
    provider.getNetwork(),
  ])
  expect([balance, count, token, network.chainId]).toEqual([parseEther('1'), 0, USDC, 84532n])
  const requests = tollgate.sent.slice(before)
  expect(requests.map((body) => (body as unknown[]).length)).toEqual([3])
})

test('two hundred calls at once are answered, each its own', async () => {
  const provider = open({ batchMaxCount: 20 })
  const before = tollgate.sent.length
  const holders = Array.from({ length: 200 }, () => Wallet.createRandom().address)
  await Promise.all(
    holders.map((address, index) => node('anvil_setBalance', address, `0x${(index + 1).toString(16)}`)),
  )
  const balances = await Promise.all(holders.map((address) => provider.getBalance(address)))
  expect(balances).toEqual(holders.map((_, index) => BigInt(index + 1)))
  expect(tollgate.sent.length - before).toBe(10)
}, 180_000)

test('a chain given by its name', async () => {
  const provider = tollgateProvider(tollgate, 'base-sepolia')
  opened.push(provider)
  expect((await provider.getNetwork()).chainId).toBe(84532n)
  expect(await provider.getBlockNumber()).toBeGreaterThan(0)
})

describe('BrowserProvider, over EIP-1193', () => {
  test('reads, sends, and decodes a revert', async () => {
    const provider = new BrowserProvider(tollgateEip1193(tollgate, CHAIN), undefined, {
      cacheTimeout: -1,
      pollingInterval: 200,
      polling: true,
    })
    opened.push(provider)
    const wallet = await funded(provider)
    expect((await provider.getNetwork()).chainId).toBe(84532n)
    expect(await provider.getBalance(wallet.address)).toBe(parseEther('1'))
    const token = tokenOf(wallet)
    expect((await (await transfer(token, Wallet.createRandom().address, 3n)).wait())?.status).toBe(1)
    await expect(transfer(token, wallet.address, USDC * 2n)).rejects.toMatchObject({
      code: 'CALL_EXCEPTION',
      reason: expect.stringContaining('exceeds balance') as string,
    })
  })

  test('has no accounts', async () => {
    const provider = new BrowserProvider(tollgateEip1193(tollgate, CHAIN))
    opened.push(provider)
    await expect(provider.getSigner()).rejects.toThrow('Sign with the wallet')
  })
})
