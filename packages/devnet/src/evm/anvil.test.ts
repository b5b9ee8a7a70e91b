import { mkdtempSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isAlive } from '@tollgate/processes'
import { startAnvil } from './anvil'
import { deployContracts, fundWallet, fundWallets, USDC_ADDRESS, usdcAbi } from './deploy'
import { callRpc } from './rpc'
import { developmentPayTo, developmentWallets } from './wallets'
import { Interface } from 'ethers'

jest.setTimeout(30_000)
const folders: string[] = []
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((stop) => stop()))
})
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-anvil-'))
  folders.push(folder)
  return folder
}

async function start(options: Parameters<typeof startAnvil>[0]) {
  const chain = await startAnvil(options)
  open.push(chain.stop)
  return chain
}

const usdc = new Interface(usdcAbi)
async function usdcOf(rpcUrl: string, address: string) {
  const data = usdc.encodeFunctionData('balanceOf', [address])
  return BigInt((await callRpc(rpcUrl, 'eth_call', { to: USDC_ADDRESS, data }, 'latest')) as string)
}
async function latest(rpcUrl: string) {
  const block = (await callRpc(rpcUrl, 'eth_getBlockByNumber', 'latest', false)) as Record<string, string>
  return { number: Number(block['number']), late: Math.floor(Date.now() / 1000) - Number(block['timestamp']) }
}
const stranger = '0x00000000000000000000000000000000000057A6'

describe('startAnvil', () => {
  test('goes on where it was stopped, with the time of the wall clock', async () => {
    const folder = newFolder()
    const first = await start({ folder })
    expect(first.restored).toBe('new')
    await deployContracts(first.rpcUrl)
    await fundWallets(first.rpcUrl)
    await fundWallet(first.rpcUrl, stranger, { usdc: 7n, wei: 9n })
    const before = await latest(first.rpcUrl)
    const began = Date.now()
    await first.stop()
    expect(Date.now() - began).toBeLessThan(5_000)
    expect(isAlive(first.pid)).toBe(false)
    await delay(3000)

    const second = await start({ folder })

    expect(second.restored).toBe('kept')
    const after = await latest(second.rpcUrl)
    expect(after.number).toBeGreaterThan(before.number)
    expect(after.late).toBeLessThanOrEqual(2)
    await deployContracts(second.rpcUrl)
    await fundWallets(second.rpcUrl)
    expect(await usdcOf(second.rpcUrl, stranger)).toBe(7n)
    expect(BigInt((await callRpc(second.rpcUrl, 'eth_getBalance', stranger, 'latest')) as string)).toBe(9n)
    expect(await usdcOf(second.rpcUrl, developmentWallets[0]!.address)).toBe(10_000_000_000n)
    expect(await usdcOf(second.rpcUrl, developmentPayTo.address)).toBe(0n)
  })

  test('keeps its clock while nothing happens, for blocks and for calls', async () => {
    const { rpcUrl } = await start({})
    // TIMESTAMP PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
    await callRpc(rpcUrl, 'anvil_setCode', stranger, '0x425f5260205ff3')
    await delay(4500)

    const seen = Number(await callRpc(rpcUrl, 'eth_call', { to: stranger }, 'latest'))

    expect(Math.abs(Math.floor(Date.now() / 1000) - seen)).toBeLessThanOrEqual(3)
    expect((await latest(rpcUrl)).late).toBeLessThanOrEqual(3)
  })

  test('does not run ahead of the wall clock when many blocks are mined in one second', async () => {
    const { rpcUrl } = await start({})

    for (let i = 0; i < 50; i++) await callRpc(rpcUrl, 'evm_mine')

    expect(Math.abs((await latest(rpcUrl)).late)).toBeLessThanOrEqual(10)
  })

  test('mines nothing between two blocks where a block time is asked for', async () => {
    const { rpcUrl } = await start({ blockTime: 3600 })
    const { number } = await latest(rpcUrl)
    await callRpc(rpcUrl, 'anvil_impersonateAccount', stranger)
    await callRpc(rpcUrl, 'anvil_setBalance', stranger, '0xde0b6b3a7640000')
    const hash = await callRpc(rpcUrl, 'eth_sendTransaction', { from: stranger, to: stranger })
    await delay(500)

    expect((await latest(rpcUrl)).number).toBe(number)
    expect(await callRpc(rpcUrl, 'eth_getTransactionReceipt', hash)).toBeNull()
    await callRpc(rpcUrl, 'evm_mine')
    expect(await callRpc(rpcUrl, 'eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })

  test('makes no block while its pace is stopped, and mines what waited when it goes on', async () => {
    const { rpcUrl, setPace } = await start({})
    await callRpc(rpcUrl, 'anvil_impersonateAccount', stranger)
    await callRpc(rpcUrl, 'anvil_setBalance', stranger, '0xde0b6b3a7640000')
    await setPace('stopped')
    const { number } = await latest(rpcUrl)
    const hash = await callRpc(rpcUrl, 'eth_sendTransaction', { from: stranger, to: stranger })
    await delay(3000)

    expect((await latest(rpcUrl)).number).toBe(number)
    await setPace('at-once')
    expect(await callRpc(rpcUrl, 'eth_getTransactionReceipt', hash)).toMatchObject({ status: '0x1' })
  })

  test('is Base Sepolia by its number, and has no account that anybody could send from', async () => {
    const { rpcUrl } = await start({})

    expect(await callRpc(rpcUrl, 'eth_chainId')).toBe('0x14a34')
    expect(await callRpc(rpcUrl, 'eth_accounts')).toEqual([])
  })

  test('leaves out old empty blocks at the next start, and no block with a transaction', async () => {
    const folder = newFolder()
    const first = await start({ folder })
    await deployContracts(first.rpcUrl)
    await fundWallet(first.rpcUrl, stranger, { usdc: 7n })
    const paid = (await callRpc(first.rpcUrl, 'eth_getBlockByNumber', 'latest', false)) as Record<
      string,
      string
    >
    await callRpc(first.rpcUrl, 'anvil_mine', '0x3e8')
    await first.stop()
    const size = readFileSync(join(folder, 'chain.json')).length

    const { rpcUrl } = await start({ folder })

    expect(readFileSync(join(folder, 'chain.previous.json')).length).toBeLessThan(size / 2)
    expect(await callRpc(rpcUrl, 'eth_getBlockByNumber', paid['number'], false)).toMatchObject({
      hash: paid['hash'],
    })
    expect((await latest(rpcUrl)).number).toBeGreaterThan(1000)
    expect(await usdcOf(rpcUrl, stranger)).toBe(7n)
  })

  test('goes back to the start before when the last write was cut short, and says so', async () => {
    const folder = newFolder()
    const first = await start({ folder })
    await callRpc(first.rpcUrl, 'anvil_setBalance', stranger, '0x9')
    await first.stop()
    await (await start({ folder })).stop()
    truncateSync(join(folder, 'chain.json'), 1000)

    const { rpcUrl, restored } = await start({ folder })

    expect(restored).toBe('earlier')
    expect(await callRpc(rpcUrl, 'eth_getBalance', stranger, 'latest')).toBe('0x9')
  })

  test('is back at the wall clock after a start, even if its time was moved', async () => {
    const folder = newFolder()
    const first = await start({ folder })
    await callRpc(first.rpcUrl, 'evm_increaseTime', 3600)
    await callRpc(first.rpcUrl, 'evm_mine')
    expect((await latest(first.rpcUrl)).late).toBeLessThan(-3000)
    await first.stop()

    const { rpcUrl } = await start({ folder })

    expect(Math.abs((await latest(rpcUrl)).late)).toBeLessThanOrEqual(10)
  })
})
