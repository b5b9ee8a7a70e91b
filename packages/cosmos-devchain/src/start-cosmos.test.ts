import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { StargateClient } from '@cosmjs/stargate'
import { isAlive } from '@tollgate/processes'
import { callRpc } from './call-rpc'
import { fundCosmosWallet } from './fund'
import { startCosmos } from './start-cosmos'
import { newWallet } from './testing/tx'
import { developmentCosmosPayTo, developmentCosmosSigner, developmentCosmosWallets } from './wallets'

const folders: string[] = []
const open: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((stop) => stop()))
})
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })))

function newFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-cosmos-'))
  folders.push(folder)
  return folder
}

async function start(options: Parameters<typeof startCosmos>[0] = {}) {
  const chain = await startCosmos(options)
  open.push(chain.stop)
  const client = await StargateClient.connect(chain.rpcUrl)
  const amount = async (address: string) => (await client.getBalance(address, 'uatom')).amount
  return { ...chain, client, amount }
}

const stranger = newWallet().address
const DEADLINE_MS = 30_000

async function until(holds: () => Promise<boolean>) {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('Timed out')
    await delay(20)
  }
}

describe('startCosmos', () => {
  test('funds ten wallets and the signer, and gives the payee nothing', async () => {
    const { amount, client, chainId, rpcUrl } = await start()
    expect(await client.getChainId()).toBe(chainId)
    expect(developmentCosmosWallets).toHaveLength(10)
    for (const { address } of [...developmentCosmosWallets, developmentCosmosSigner])
      expect(await amount(address)).toBe('10000000000')
    expect(await client.getAccount(developmentCosmosPayTo.address)).toBeNull()
    expect(new URL(rpcUrl).hostname).toBe('127.0.0.1')
  })

  test('goes on where it was stopped, with the time of the wall clock', async () => {
    const folder = newFolder()
    const first = await start({ folder })
    expect(first.restored).toBe('new')
    await fundCosmosWallet(first.rpcUrl, stranger, '7uatom')
    const block = await first.client.getBlock()
    await first.stop()
    expect(isAlive(first.pid)).toBe(false)

    const second = await start({ folder })

    expect(second.restored).toBe('kept')
    expect(await second.amount(stranger)).toBe('7')
    expect(await second.client.getBlock(block.header.height)).toEqual(block)
    const now = await second.client.getBlock()
    expect(now.header.height).toBeGreaterThan(block.header.height)
    expect(Math.abs(Date.now() - Date.parse(now.header.time))).toBeLessThan(60_000)
  })

  test('loses no block that it announced when it is killed', async () => {
    const folder = newFolder()
    const first = await start({ folder })
    await fundCosmosWallet(first.rpcUrl, stranger, '9uatom')
    process.kill(first.pid, 'SIGKILL')
    await until(() => Promise.resolve(!isAlive(first.pid)))
    await first.stop()

    const second = await start({ folder })

    expect(second.restored).toBe('kept')
    expect(await second.amount(stranger)).toBe('9')
  })

  test('leaves out a last line that was cut short, and goes back to what stands before one that cannot be read', async () => {
    const folder = newFolder()
    const file = join(folder, 'chain.jsonl')
    const first = await start({ folder })
    await fundCosmosWallet(first.rpcUrl, stranger, '5uatom')
    await first.stop()
    appendFileSync(file, '{"header":{"chainId":"toll')
    const second = await start({ folder })
    expect([second.restored, await second.amount(stranger)]).toEqual(['kept', '5'])
    await fundCosmosWallet(second.rpcUrl, stranger, '6uatom')
    await second.stop()
    const lines = readFileSync(file, 'utf8').split('\n')
    const broken = lines.findIndex(
      (line) => line.includes(`balance/${stranger}/uatom`) && line.includes('"11"'),
    )
    lines[broken] = lines[broken]!.slice(0, -9)
    writeFileSync(file, lines.join('\n'))

    const third = await start({ folder })

    expect([third.restored, await third.amount(stranger)]).toEqual(['earlier', '5'])
  })

  test('starts a new chain beside a file that is no chain, and keeps that file', async () => {
    const folder = newFolder()
    writeFileSync(join(folder, 'chain.jsonl'), 'no chain\n')
    const { restored, amount } = await start({ folder })
    expect([restored, await amount(developmentCosmosSigner.address)]).toEqual(['new', '10000000000'])
    expect(readFileSync(join(folder, 'chain.jsonl.unreadable'), 'utf8')).toBe('no chain\n')
  })

  test('is forgotten when it stops, where it has no folder', async () => {
    const { rpcUrl, stop, pid } = await startCosmos()
    await stop()
    await stop()
    expect(isAlive(pid)).toBe(false)
    await expect(callRpc(rpcUrl, 'health')).rejects.toThrow()
  })

  test('takes another port where the preferred one is busy', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    const { rpcUrl, client } = await start({ port })
    expect(rpcUrl).not.toContain(`:${port}`)
    expect(await client.getHeight()).toBeGreaterThan(0)
    other.close()
  })

  test('makes a block each second by itself, and none while its pace is stopped', async () => {
    const { client, setPace } = await start()
    const height = await client.getHeight()
    await until(async () => (await client.getHeight()) >= height + 2)
    await setPace('stopped')
    const stopped = await client.getHeight()
    await delay(2500)
    expect(await client.getHeight()).toBe(stopped)
  })

  test('mines nothing between two blocks where a block time is asked for', async () => {
    const { client, rpcUrl } = await start({ blockTime: 3600 })
    const height = await client.getHeight()
    await delay(2500)
    expect(await client.getHeight()).toBe(height)
    expect(await callRpc(rpcUrl, 'dev_mine', '3')).toEqual({ height: String(height + 3) })
  })

  test('tells who started it that it ended, if it was not asked to', async () => {
    const ended = new Promise<string>((resolve) => {
      void startCosmos({ onExit: ({ name }) => resolve(name) }).then(({ pid, stop }) => {
        open.push(stop)
        process.kill(pid, 'SIGKILL')
      })
    })
    expect(await ended).toBe('cosmos')
  })

  test('says in its log that it is for development only', async () => {
    const folder = newFolder()
    await start({ folder })
    await until(() =>
      Promise.resolve(readFileSync(join(folder, 'cosmos.log'), 'utf8').includes('FOR DEVELOPMENT ONLY')),
    )
  })
})
