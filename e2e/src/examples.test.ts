import { USDC_ADDRESS } from '@tollgate/devnet'
import { describeInBrowser } from '@tollgate/browser-testing'
import { createTollgate, memoryStorage } from '@tollgate/wallet'
import { freePort } from '@tollgate/processes'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openWalletPage } from './testing/wallet-page'
import { until } from './testing/paying'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { follow } from './testing/program'
import { root } from './testing/world'

let world: ObservedWorld
const running: ReturnType<typeof follow>[] = []

beforeAll(async () => {
  world = await startObservedWorld()
}, 120_000)
afterEach(async () => {
  for (const { child, exited } of running.splice(0)) {
    child.kill('SIGINT')
    await exited
  }
  rmSync(join(root, 'examples/node-script/.wallet'), { recursive: true, force: true })
})
afterAll(() => world.stop(), 30_000)

/** As `npm run example` does, with a new wallet in the place of the development wallet. */
function run(name: string, port: number, wallet?: { address: string; privateKey: string }) {
  const description = JSON.parse(readFileSync(join(world.folder, 'devnet.json'), 'utf8')) as {
    networks: [{ wallets: unknown[] }]
  }
  if (wallet) description.networks[0].wallets[3] = { address: wallet.address, privateKey: wallet.privateKey }
  const devnet = join(world.folder, 'example.json')
  writeFileSync(devnet, JSON.stringify(description))
  const args = ['scripts/example.mjs', name, '--devnet', devnet, '--port', String(port)]
  // Vite prints in colors there, and the others do as they would.
  const program = follow(spawn(process.execPath, args, { cwd: root, env: { ...process.env, CI: 'true' } }))
  running.push(program)
  return program
}

test('each has a test, and a line in the table', () => {
  const folders = readdirSync(join(root, 'examples'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  expect(folders.map(({ name }) => name).sort()).toEqual(
    [...paid, 'mcp-agent', 'node-script', 'wallet-page'].sort(),
  )
})

const paid = ['paid-express', 'paid-hono', 'paid-next', 'paid-fastapi']
const hasPython = spawnSync('python3', ['-c', 'import venv, ensurepip']).status === 0
/** Where pip's own attempts failed. Its warnings alone tell this from a package that does not exist. */
const lacksPackageIndex = (output: string) =>
  output.includes('Python packages failed') && output.includes('after connection broken by')

describe.each(paid)('%s', (name) => {
  const testHere = name === 'paid-fastapi' && !hasPython ? test.skip : test
  testHere(
    'serves its route for a cent',
    async () => {
      const port = await freePort()
      const program = run(name, port)
      const url = `http://127.0.0.1:${port}/weather`
      const ended = program.exited.then(() => undefined)
      const asked = await until(
        () => Promise.race([ended, fetch(url)]),
        (answer) => answer === undefined || answer.status === 402,
        480,
      )
      if (!asked && lacksPackageIndex(program.output()))
        return process.stderr.write(`skipped: ${name} (pip cannot reach its package index)\n`)
      if (!asked) throw new Error(`It ended:\n${program.output()}`)
      expect(asked.headers.has('payment-required')).toBe(true)

      const wallet = await world.newPayer()
      const limits = { assets: [{ network: 'eip155:84532', asset: USDC_ADDRESS, perPayment: 10_000n }] }
      const tollgate = createTollgate({ url: world.gateway.url, wallet, limits, storage: memoryStorage() })
      const answer = await tollgate.fetch(url)
      expect([answer.status, await answer.json()]).toEqual([200, { weather: 'sunny' }])
      expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - 10_000n)
    },
    500_000,
  )
})

describe('docs/clients.md', () => {
  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const programs = new Map(
    [...read('docs/clients.md').matchAll(/^```python\n# (.+)\n([^`]*)```$/gm)].map(([, name, text]) => [
      name,
      text ?? '',
    ]),
  )
  /** The one that paid-fastapi has installed. */
  const python = join(root, 'examples/paid-fastapi/.venv/bin/python')

  test('shows lines of paid-fastapi, and its version of x402', () => {
    expect(read('examples/paid-fastapi/server.py')).toContain(
      programs.get('of examples/paid-fastapi/server.py'),
    )
    const versions = [read('docs/clients.md'), read('examples/paid-fastapi/requirements.txt')].map(
      (text) => /x402\[.*\]==([0-9.]+)/.exec(text)?.[1],
    )
    expect(versions).toEqual([expect.any(String), versions[0]])
  })

  test('has programs in Python that pay once, and make a key by which web3 calls', async () => {
    if (!existsSync(python))
      return process.stderr.write(
        'skipped: the Python of docs/clients.md (paid-fastapi has not installed it)\n',
      )
    const wallets = [await world.newPayer(), await world.newPayer()] as const
    const start = async (name: string, env: Record<string, string>) => {
      const given = { GATEWAY: world.gateway.url, ...env }
      const { stdout } = await promisify(execFile)(python, ['-c', programs.get(name) ?? ''], { env: given })
      return stdout.trim()
    }
    const payTwice = async () => {
      const env = { PRIVATE_KEY: wallets[0].privateKey }
      return [await start('call.py', env), await start('call.py', env)]
    }
    const callByKey = async () => {
      const url = await start('key.py', { PRIVATE_KEY: wallets[1].privateKey })
      return [url, await start('node.py', { NODE_URL: url })]
    }
    expect(await Promise.all([payTwice(), callByKey()])).toEqual([
      [expect.stringMatching(/0x.*left: 99$/), expect.stringMatching(/0x.*left: 98$/)],
      [expect.stringMatching(/base-sepolia\/tgk_/), expect.stringMatching(/^chain 84532 block \d+$/)],
    ])
    for (const { address } of wallets) expect(await world.token.balanceOf(address)).toBe(BUDGET - 10_000n)
  }, 60_000)
})

test('node-script pays once, and spends credits when it runs again', async () => {
  const wallet = await world.newPayer()
  const first = run('node-script', 0, wallet)
  await first.said('98 credits left on plan 1')
  expect(first.output()).toMatch(/paid 10000 in 0x[0-9a-f]{64}\nblock \d+\nbalance 0\.0/)
  await first.exited
  const second = run('node-script', 0, wallet)
  await second.said('96 credits left on plan 1')
  expect(second.output()).not.toContain('paid')
  expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - 10_000n)
}, 180_000)

test('mcp-agent calls within its limits', async () => {
  const wallet = await world.newPayer()
  const agent = run('mcp-agent', 0, wallet)
  expect(await agent.exited).toBe(0)
  expect(agent.output()).toMatch(/^tools .*rpc_call/m)
  expect(agent.output()).toMatch(/^rpc_call .*0x/m)
  expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - 10_000n)
}, 180_000)

describeInBrowser('wallet-page', () => {
  test('asks before it pays, and shows the balance', async () => {
    const wallet = await world.newPayer()
    const port = await freePort()
    const vite = run('wallet-page', port, wallet)
    await vite.said(`http://127.0.0.1:${port}/`)
    const { page, close } = await openWalletPage(wallet)
    const asked: string[] = []
    page.on('dialog', (dialog) => {
      asked.push(dialog.message())
      void dialog.accept()
    })
    await page.goto(`http://127.0.0.1:${port}/`, { waitUntil: 'networkidle' })
    await page.click('#call')
    await page.waitForFunction(() => document.body.innerText.includes('credits left'))
    const text = await page.innerText('body')
    expect(text).toMatch(/signed in as 0x[\s\S]*paid in 0x[\s\S]*block \d+/)
    expect(text).toContain('99 credits left')
    expect(asked).toEqual([`Pay 0.01 USDC to ${world.plan.pay_to}?`])
    await close()
  }, 180_000)
})

declare const document: { body: { innerText: string } }
