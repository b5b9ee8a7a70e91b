import { fileStorage } from '@tollgate/wallet/file-storage'
import { fundWallet, USDC_ADDRESS } from '@tollgate/devnet'
import { Wallet } from 'ethers'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startProxy } from './testing/changing-proxy'
import { createCommandLine, type Finished } from './testing/command-line'
import { until } from './testing/paying'
import { root, startWorld, type World } from './testing/world'

const PASSWORD = 'a password of the keystore 7f3a'
const SHOP_PASSWORD = 'a password of the shop 91bc'
const USDC = 1_000_000n
/** Nothing listens there. */
const AWAY = 'http://127.0.0.1:2'

let world: World
let folder: string
const secrets: string[] = [PASSWORD, SHOP_PASSWORD]
const lines: ReturnType<typeof createCommandLine>[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-cli-'))
  world = await startWorld()
}, 120_000)

afterAll(async () => {
  await world.stop()
  rmSync(folder, { recursive: true, force: true })
}, 30_000)

/** The program with a wallet of its own, in a folder of its own. */
async function newUser({
  usdc = USDC,
  variables = {},
}: { usdc?: bigint; variables?: Record<string, string> } = {}) {
  const wallet = Wallet.createRandom()
  secrets.push(wallet.privateKey.slice(2), wallet.mnemonic?.phrase ?? wallet.privateKey)
  if (usdc > 0n) await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc })
  const home = mkdtempSync(join(folder, 'home-'))
  const commandLine = createCommandLine({
    HOME: home,
    TOLLGATE_URL: world.gateway.url,
    PRIVATE_KEY: wallet.privateKey,
    ...variables,
  })
  lines.push(commandLine)
  return { ...commandLine, wallet, address: wallet.address, home }
}

/** `npm run faucet`, for the chains of this world. */
const runFaucet = (address: string) =>
  spawnSync(
    process.execPath,
    [join(root, 'scripts/faucet.mjs'), address, '--devnet', join(world.folder, 'devnet.json')],
    { encoding: 'utf8' },
  )

test.each([
  ['an address of another chain', 'osmo1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqmcn030', 1, 'no address of a chain'],
  ['no address', '--', 2, 'Usage'],
])('the faucet refuses %s', (_, address, status, message) => {
  expect(runFaucet(address)).toMatchObject({ status, stderr: expect.stringContaining(message) as string })
})

/** Its sign-in text names the service, not the proxy. */
const behind = ({ url }: { url: string }) => ({ TOLLGATE_URL: url, TOLLGATE_SERVICE_NAME: world.serviceName })

type Payments = { data: { status: string; transaction: string; amount: string }[]; total: number }
type Balance = { pricing_plan_id: number; remaining_credits: number }

const errorOf = ({ stderr }: Finished) =>
  (JSON.parse(stderr) as { error: { code: string; message: string; advice: string } }).error

describe('a person with a new wallet', () => {
  test('makes a keystore, buys, calls, and looks back', async () => {
    const user = await newUser({ usdc: 0n, variables: { PRIVATE_KEY: '', TOLLGATE_PASSWORD: PASSWORD } })
    const keystore = join(user.home, 'wallet.json')
    const { address } = await user.json<{ address: string }>(['wallet', 'new', keystore])
    expect(statSync(keystore).mode & 0o777).toBe(0o600)
    expect((await user.run(['wallet', 'new', keystore])).exitCode).toBe(2)
    expect((await user.run(['wallet', 'address', '--keystore', keystore])).stdout).toBe(`${address}\n`)
    const faucet = runFaucet(address)
    expect([faucet.status, faucet.stdout]).toEqual([0, `${address} has got 1 USDC on base-sepolia\n`])

    const withKeystore = { TOLLGATE_KEYSTORE: keystore }
    const login = await user.run(['login', '--plan', '1'], withKeystore)
    expect(login).toMatchObject({ exitCode: 0, stderr: '' })
    expect(login.stdout).toMatch(new RegExp(`Wallet +${address}\nPlan +1 Base Sepolia starter\nUntil +20`))

    const bought = await user.json<{ amount: string; credits: number; transaction: string }>(
      ['buy', '--plan', '1', '--yes'],
      withKeystore,
    )
    expect(bought).toMatchObject({ amount: '10000', credits: 100, plan_id: 1, wallet: address })
    const price = { value: '0.01', decimals: 6, symbol: 'USDC' }
    expect(bought).toMatchObject({ price })
    expect(await user.json<Payments>(['payments'], withKeystore)).toMatchObject({ data: [{ price }] })
    expect(await user.json(['plans'])).toMatchObject([{ price }, { price: { ...price, symbol: 'ATOM' } }])

    const block = await user.run(['call', 'base-sepolia', 'eth_blockNumber'], withKeystore)
    expect(block).toMatchObject({
      exitCode: 0,
      stderr: '',
      stdout: expect.stringMatching(/^0x[0-9a-f]+\n$/) as string,
    })
    const balance = await user.json<string>(
      ['call', '84532', 'eth_getBalance', address, 'latest'],
      withKeystore,
    )
    expect(balance).toBe('0x0')

    expect(await user.json<Balance[]>(['credits'], withKeystore)).toMatchObject([
      { pricing_plan_id: 1, remaining_credits: 98 },
    ])
    const history = await user.run(['history'], withKeystore)
    expect(history.stdout).toMatch(/eth_getBalance +1 +answered[^]*eth_blockNumber +1 +answered/)
    const payments = await user.run(['payments'], withKeystore)
    expect(payments.stdout).toContain('0.01 USDC')
    expect(payments.stdout).toContain(bought.transaction)
    // The address is in the keystore: reading needs no password.
    expect((await user.run(['credits'], { ...withKeystore, TOLLGATE_PASSWORD: '' })).exitCode).toBe(0)
  })

  test('is asked on a terminal: for the password, which is not shown, and for the price', async () => {
    const user = await newUser({ variables: { PRIVATE_KEY: '' } })
    const keystore = join(user.home, 'wallet.json')
    await user.json(['wallet', 'import', keystore], {
      PRIVATE_KEY: user.wallet.privateKey,
      TOLLGATE_PASSWORD: PASSWORD,
    })
    const buy = user.startOnTerminal(['buy', '--plan', '1', '--keystore', keystore])
    await buy.said('stdout', 'Pay 0.01 USDC? [y/N]')
    buy.type('y\r')
    await buy.said('stdout', `Password of ${keystore}: `)
    buy.type(`${PASSWORD}\r`)
    const { exitCode, stdout } = await buy.ended
    expect(exitCode).toBe(0)
    expect(stdout).toContain('100 credits of plan 1')
    expect(stdout).not.toContain(PASSWORD)

    const declined = user.startOnTerminal(['buy', '--plan', '1', '--keystore', keystore])
    await declined.said('stdout', '[y/N]')
    declined.type('n\r')
    expect((await declined.ended).exitCode).toBe(3)
    expect((await user.json<Payments>(['payments', '--keystore', keystore])).total).toBe(1)
  })

  test('imports a mnemonic, which gives the same wallets on EVM and on Cosmos', async () => {
    const user = await newUser({ usdc: 0n, variables: { PRIVATE_KEY: '', TOLLGATE_PASSWORD: PASSWORD } })
    const keystore = join(user.home, 'wallet.json')
    const MNEMONIC = user.wallet.mnemonic?.phrase ?? ''
    await user.json(['wallet', 'import', keystore], { MNEMONIC })
    for (const cosmos of [[], ['--cosmos'], ['--cosmos-prefix', 'osmo']]) {
      const imported = await user.run(['wallet', 'address', '--keystore', keystore, ...cosmos])
      const direct = await user.run(['wallet', 'address', ...cosmos], { MNEMONIC })
      expect([imported.exitCode, imported.stdout]).toEqual([0, direct.stdout])
    }
  })
})

describe('payments', () => {
  test('are not made without a limit, nor above it, and once within it', async () => {
    const user = await newUser()
    const call = ['call', '84532', 'eth_chainId']
    const unlimited = await user.run(call)
    expect(unlimited).toMatchObject({ exitCode: 3, stdout: '' })
    expect(unlimited.stderr).toContain('tollgate buy')
    const above = await user.run([...call, '--plan', '1', '--max-payment', '0.009999', '--json'])
    expect([above.exitCode, errorOf(above).code]).toEqual([3, 'LIMIT_REACHED'])
    expect((await user.json<Payments>(['payments'])).total).toBe(0)

    const within = await user.run([...call, '--max-payment', '0.01', '--max-day', '0.01'])
    expect(within).toMatchObject({ exitCode: 0, stdout: '0x14a34\n', stderr: '' })
    const again = await user.run([
      'buy',
      '--yes',
      '--max-payment',
      '0.01 USDC',
      '--max-day',
      '0.01 USDC',
      '--json',
    ])
    expect([again.exitCode, errorOf(again).code]).toEqual([3, 'LIMIT_REACHED'])
    expect((await user.json<Payments>(['payments'])).total).toBe(1)
  })

  test('need a terminal or --yes', async () => {
    const user = await newUser()
    const { exitCode, stderr } = await user.run(['buy'])
    expect(exitCode).toBe(2)
    expect(stderr).toContain('--yes')
    expect((await user.json<Payments>(['payments'])).total).toBe(0)
  })

  test('that Ctrl-C interrupts are kept: the next command sends the same one', async () => {
    const gateway = { answers: 'never' as 'never' | 'later' | 'at once', payments: 0, arrive: () => {} }
    const arrived = new Promise<void>((resolve) => (gateway.arrive = resolve))
    const proxy = await startProxy(world.gateway.url, (request, answer) => {
      if (gateway.answers === 'at once' || !isPayment(request)) return answer.body
      gateway.payments += 1
      gateway.arrive()
      if (gateway.answers === 'never') return undefined
      answer.status = 503
      return '{"code":"UNAVAILABLE","message":"Later"}'
    })
    const user = await newUser({ variables: behind(proxy) })
    const buy = user.start(['buy', '--yes'])
    await arrived
    buy.child.kill('SIGINT')
    expect(await buy.ended).toMatchObject({ exitCode: 5, stdout: '' })
    expect((await user.run(['doctor'])).exitCode).toBe(5)

    gateway.answers = 'later'
    gateway.payments = 0
    const again = user.start(['buy', '--yes', '--json'])
    await until(
      () => Promise.resolve(gateway.payments),
      (payments) => payments > 1,
    )
    again.child.kill('SIGINT')
    const stopped = await again.ended
    expect([stopped.exitCode, errorOf(stopped).code]).toEqual([5, 'PAYMENT_PENDING'])
    expect(errorOf(stopped).advice).toContain('sends the same one')

    gateway.answers = 'at once'
    await user.json(['buy', '--yes'])
    expect(await user.json<Payments>(['payments'])).toMatchObject({
      total: 1,
      data: [{ status: 'credited' }],
    })
    await proxy.close()
  })

  test('never exceed the price that was shown', async () => {
    const proxy = await startProxy(world.gateway.url, ({ url }, { body }) =>
      url === '/pricing' ? body.replaceAll('"amount":"10000"', '"amount":"9999"') : body,
    )
    const user = await newUser({ variables: behind(proxy) })
    expect((await user.run(['plans'])).stdout).toContain('0.009999 USDC')
    const buy = await user.run(['buy', '--yes', '--json'])
    expect([buy.exitCode, errorOf(buy).code]).toEqual([3, 'LIMIT_REACHED'])
    expect((await user.json<Payments>(['payments'])).total).toBe(0)
    await proxy.close()
  })

  test('are not made at a gateway that states other decimals than the asset has', async () => {
    const proxy = await startProxy(world.gateway.url, ({ url }, { body }) =>
      url === '/pricing' ? body.replaceAll('"decimals":6', '"decimals":18') : body,
    )
    const user = await newUser({ variables: behind(proxy) })
    for (const command of [
      ['call', '84532', 'eth_chainId', '--max-payment', '0.000001'],
      ['buy', '--yes'],
    ]) {
      const refused = await user.run([...command, '--plan', '1', '--json'])
      expect([refused.exitCode, errorOf(refused).code]).toEqual([1, 'ASSET_MISMATCH'])
    }
    expect((await user.json<Payments>(['payments'])).total).toBe(0)
    await proxy.close()
  })

  test('are made in the asset that was paid before, whatever the gateway asks for later', async () => {
    const base = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
    const moved = { isMoved: false }
    const proxy = await startProxy(world.gateway.url, ({ url }, { body }) =>
      url === '/pricing' && moved.isMoved
        ? body.replaceAll('"chain_id":"84532"', '"chain_id":"8453"').replaceAll(USDC_ADDRESS, base)
        : body,
    )
    const user = await newUser({ variables: behind(proxy) })
    await user.json(['buy', '--plan', '1', '--yes'])
    moved.isMoved = true
    const limits = ['--max-payment', '0.05', '--max-day', '1']
    const commands = [
      ['buy', '--yes'],
      ['call', '84532', 'eth_chainId', ...limits],
      ['mcp', ...limits],
    ]
    for (const command of commands) {
      const refused = await user.run([...command, '--plan', '1', '--json'])
      expect([command, refused.exitCode, errorOf(refused).code]).toEqual([command, 2, 'ASSET_CHANGED'])
      expect(errorOf(refused).message).toContain(`paid this gateway in ${USDC_ADDRESS} on eip155:84532`)
    }
    const doctor = await user.run(['doctor', '--plan', '1'])
    expect(doctor).toMatchObject({
      exitCode: 2,
      stdout: expect.stringContaining('is now asked for') as string,
    })
    const asset = ['--asset', `eip155:8453/${base}:6`]
    const allowed = await user.run([
      'call',
      '84532',
      'eth_chainId',
      ...limits,
      ...asset,
      '--plan',
      '1',
      '--json',
    ])
    expect(allowed.exitCode).toBe(0)
    await proxy.close()
  })

  test('of a wallet without money name the address to fund', async () => {
    const user = await newUser({ usdc: 0n })
    const refused = await user.run(['buy', '--yes', '--json'])
    expect([refused.exitCode, errorOf(refused).code]).toEqual([1, 'PAYMENT_REFUSED'])
    expect(errorOf(refused).message).toContain(
      '(insufficient_funds: the payer has 0 USDC, and pays 0.01 USDC)',
    )
    expect(errorOf(refused).advice).toContain(`USDC, ${USDC_ADDRESS} on eip155:84532, to ${user.address}`)
    expect(errorOf(refused).advice).toContain(`npm run faucet -- ${user.address}`)
    expect(errorOf(refused).advice).toMatch(/The signed payment stays valid until \d\d:\d\d UTC/)

    runFaucet(user.address)
    const call = ['call', '84532', 'eth_chainId', '--plan', '1', '--json']
    for (const limits of [[], ['--max-payment', '0.001', '--max-day', '0.001']]) {
      const bounded = await user.run([...call, ...limits])
      expect([bounded.exitCode, errorOf(bounded).message]).toEqual([
        3,
        expect.stringMatching(/^A payment of 0.01 USDC was signed earlier and is open until \d\d:\d\d UTC/),
      ])
    }
    const { data } = await user.json<Payments>(['payments'])
    expect(data.filter(({ status }) => status !== 'failed')).toEqual([])
  })

  test('need complete limits, and other commands do not', async () => {
    const user = await newUser({ usdc: 0n, variables: { TOLLGATE_MAX_DAY: '1' } })
    for (const command of ['credits', 'history', 'payments', 'login'])
      expect(await user.run([command])).toMatchObject({ exitCode: 0 })
    const call = await user.run(['call', '84532', 'eth_chainId'])
    expect([call.exitCode, call.stderr]).toEqual([
      2,
      'Error: --max-day needs --max-payment, the most for one payment\n',
    ])
  })

  test('are made from a Cosmos wallet of a mnemonic', async () => {
    const user = await newUser({ usdc: 0n, variables: { PRIVATE_KEY: '' } })
    const variables = { MNEMONIC: user.wallet.mnemonic?.phrase ?? '' }
    const { address } = await user.json<{ address: string }>(['wallet', 'address', '--cosmos'], variables)
    expect(runFaucet(address)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('1 ATOM') as string,
    })
    const buy = ['buy', '--yes', '--cosmos']
    const unknown = await user.run([...buy, '--json'], variables)
    expect([unknown.exitCode, errorOf(unknown).code]).toEqual([2, 'ASSET_UNKNOWN'])
    const [asset = ''] = /--asset (\S+)/.exec(errorOf(unknown).advice) ?? []
    expect(asset).toBe('--asset cosmos:tollgate-devnet-1/uatom:6')
    const bought = await user.json([...buy, ...asset.split(' ')], variables)
    expect(bought).toMatchObject({ amount: '10000', plan_id: 2, wallet: address })
    const status = await user.json<{ node_info: { network: string } }>(
      ['call', 'tollgate-devnet-1', 'status', '--params', '{}', '--cosmos'],
      variables,
    )
    expect(status.node_info.network).toBe('tollgate-devnet-1')
    const healthy = await user.json<{ healthy: boolean }>(['doctor', '--cosmos'], {
      ...variables,
      TOLLGATE_ASSETS: 'cosmos:cosmoshub-4/uatom:6,cosmos:tollgate-devnet-1/uatom:6',
    })
    expect(healthy.healthy).toBe(true)
  })
})

test('access keys are created, listed and deleted', async () => {
  const user = await newUser()
  await user.json(['buy', '--yes'])
  const key = await user.json<{ id: string; url: string }>([
    ...['keys', 'create', 'block explorer', '--max-credits-per-day', '5', '--chain', 'base-sepolia'],
  ])
  const call = () =>
    fetch(key.url.replace('{chain}', 'base-sepolia'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }),
    })
  expect((await call()).status).toBe(200)
  const listed = await user.run(['keys', 'list'])
  expect(listed.stdout).toMatch(new RegExp(`${key.id} +block explorer +1 +1 +1 +5 +eip155:84532`))
  expect((await user.run(['keys', 'delete', key.id])).exitCode).toBe(0)
  expect((await call()).status).not.toBe(200)
})

test('output that cannot be written is a failure, and a key that is lost so can be deleted', async () => {
  const user = await newUser()
  await user.json(['buy', '--yes'])
  for (const words of ['plans', 'plans --json', '--help', 'watch --json']) {
    const { exitCode, stderr } = await user.runInShell(`tollgate ${words} > /dev/full`)
    expect([words, exitCode]).toEqual([words, 1])
    expect(stderr).toContain('The output cannot be written (ENOSPC)')
  }
  const lost = await user.runInShell('tollgate keys create lost --json > /dev/full')
  expect([lost.exitCode, errorOf(lost).code]).toEqual([1, 'OUTPUT_FAILED'])
  const [, id = ''] = /`tollgate keys delete (\S+)`/.exec(errorOf(lost).advice) ?? []
  expect((await user.run(['keys', 'delete', id])).exitCode).toBe(0)
})

describe('watch', () => {
  test('prints each change as a line of JSON, and Ctrl-C ends it as done', async () => {
    const user = await newUser()
    await user.json(['buy', '--yes'])
    const watch = user.start(['watch', '--json', '--interval', '0.2'])
    await watch.said('stdout', '"credits":100')
    await user.json(['call', '84532', 'eth_chainId'])
    await watch.said('stdout', '"credits":99')
    watch.child.kill('SIGINT')
    const { exitCode, stdout, stderr } = await watch.ended
    expect([exitCode, stderr]).toEqual([0, ''])
    const changes = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(changes).toMatchObject([
      { event: 'credits', plan_id: 1, credits: 100, before: null },
      { event: 'call', call: { rpc_method: 'eth_chainId' } },
      { event: 'credits', plan_id: 1, credits: 99, before: 100 },
    ])
  })

  test('redraws a screen on a terminal', async () => {
    const user = await newUser({ usdc: 0n })
    const watch = user.startOnTerminal(['watch', '--interval', '0.2'])
    await watch.said('stdout', /No calls\.[^]*No calls\./)
    watch.type('\u0003')
    expect((await watch.ended).exitCode).toBe(0)
  })
})

test('a reader that has seen enough ends the program without a message', async () => {
  const user = await newUser()
  const { exitCode, stderr } = await user.runInShell(
    'set -o pipefail; tollgate plans --json | true; tollgate doctor | true',
  )
  expect([exitCode, stderr]).toEqual([0, ''])
})

test('bash completes commands and options by the printed script', async () => {
  const user = await newUser({ usdc: 0n })
  const complete = async (...words: string[]) => {
    const list = words.map((word) => `'${word}'`).join(' ')
    const { stdout, stderr } = await user.runInShell(
      `eval "$(tollgate completion bash)"; COMP_WORDS=(tollgate ${list}); COMP_CWORD=${words.length}; _tollgate; echo "\${COMPREPLY[*]}"`,
    )
    expect(stderr).toBe('')
    return stdout.trim()
  }
  expect(await complete('hist')).toBe('history')
  expect(await complete('--json', 'keys', 'cr')).toBe('create')
  expect(await complete('keys', 'create', '--max-credits-')).toBe('--max-credits-per-day')
  expect(await complete('shop', 'keys', '')).toContain('list create delete --url')
  expect(await complete('--plan', 'keys', 'cr')).toBe('credits')
  expect(await complete('shop', 'settlements', '--by', '=', 'm')).toBe('month')
  expect(await complete('completion', '')).toContain('bash zsh fish')
})

const withFish = spawnSync('fish', ['--version']).status === 0 ? test : test.skip
withFish('fish completes commands, options and values by the printed script', async () => {
  const user = await newUser({ usdc: 0n })
  const complete = async (line: string) => {
    const { stdout, stderr } = await user.runInShell(
      `tollgate completion fish > "$HOME/t.fish"; fish -c "source $HOME/t.fish; complete -C 'tollgate ${line}'"`,
    )
    expect(stderr).toBe('')
    return stdout
      .trim()
      .split('\n')
      .map((suggestion) => suggestion.split('\t')[0])
  }
  expect(await complete('hist')).toEqual(['history'])
  expect(await complete('--plan keys cr')).toEqual(['credits'])
  expect(await complete('keys create --max-c')).toEqual(['--max-credits', '--max-credits-per-day'])
  expect(await complete('shop settlements --by ')).toEqual(['all', 'day', 'month'])
  expect(await complete('completion ')).toEqual(['bash', 'fish', 'zsh'])
})

describe('doctor', () => {
  test('finds nothing wrong for a wallet with money', async () => {
    const user = await newUser()
    const { exitCode, stdout, stderr } = await user.run(['doctor'])
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).not.toContain('wrong')
    expect(stdout).toContain('1 USDC on base-sepolia')
  })

  test.each<[string, Record<string, string>, number, string]>([
    ['a gateway that is away', { TOLLGATE_URL: AWAY }, 4, 'ECONNREFUSED'],
    ['no wallet', { PRIVATE_KEY: '' }, 2, 'No wallet'],
    ['a plan that is not sold', { TOLLGATE_PLAN: '77' }, 2, 'no plan 77'],
    ['a wallet without money', {}, 1, 'less than a plan costs'],
  ])('names %s', async (_, variables, exitCode, message) => {
    const user = await newUser({ usdc: 0n })
    const result = await user.run(['doctor'], variables)
    expect(result.exitCode).toBe(exitCode)
    expect(result.stdout).toContain(message)
  })
})

test('a folder that cannot be made is named', async () => {
  const user = await newUser({ usdc: 0n, variables: { TOLLGATE_FOLDER: '/proc/tollgate' } })
  const { exitCode, stderr } = await user.run(['login'])
  expect(exitCode).toBe(1)
  expect(stderr).toContain('Cannot use /proc/tollgate/')
})

describe('failures', () => {
  test.each<[string, string[], Record<string, string>, number]>([
    ['an unknown command', ['sell'], {}, 2],
    ['a key as an argument', ['login', `--private-key=${'ab'.repeat(32)}`], {}, 2],
    ['a wrong private key', ['credits'], { PRIVATE_KEY: 'a secret that is not a key' }, 2],
    ['a wrong mnemonic', ['credits'], { PRIVATE_KEY: '', MNEMONIC: 'zebra zebra zebra' }, 2],
    ['an unreachable gateway', ['plans'], { TOLLGATE_URL: AWAY }, 4],
    ['an unknown chain over REST', ['call', 'nowhere', '--rest', '/a'], {}, 1],
    ['a place in the history that is none', ['history', '--before', 'x'], {}, 2],
    ['an access key that is none', ['keys', 'delete', 'nonexistent'], {}, 2],
    ['an access key that has expired', ['keys', 'create', 'a', '--expires', '2020-01-01'], {}, 2],
    ['an unknown method', ['call', '84532', 'eth_nothing', '--max-payment', '0.01'], {}, 1],
  ])('of %s are one message without a stack', async (_, words, variables, exitCode) => {
    secrets.push('ab'.repeat(32), 'a secret that is not a key', 'zebra zebra zebra')
    const user = await newUser()
    const result = await user.run(words, variables)
    expect(result).toMatchObject({ exitCode, stdout: '' })
    expect(result.stderr).toMatch(/^Error: /)
    expect(result.stderr).not.toMatch(/\n\s+at /)
  })

  test('a wrong password does not open a keystore', async () => {
    const user = await newUser({ usdc: 0n })
    const keystore = join(user.home, 'wallet.json')
    await user.json(['wallet', 'import', keystore], { TOLLGATE_PASSWORD: PASSWORD })
    secrets.push('some other password')
    const { exitCode, stderr } = await user.run(['login', '--keystore', keystore], {
      TOLLGATE_PASSWORD: 'some other password',
    })
    expect([exitCode, stderr]).toEqual([2, `Error: The password does not open the keystore ${keystore}\n`])
  })

  test('others who may read a key file are named', async () => {
    const user = await newUser({ usdc: 0n })
    const keystore = join(user.home, 'wallet.json')
    const passwordFile = join(user.home, 'password')
    writeFileSync(passwordFile, `${PASSWORD}\n`, { mode: 0o644 })
    const { exitCode, stderr } = await user.run([
      'wallet',
      'import',
      keystore,
      '--password-file',
      passwordFile,
    ])
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`chmod 600 ${passwordFile}`)
  })
})

describe('a merchant', () => {
  test('signs up, makes a client key that works, revokes it, and reads what was settled', async () => {
    const user = await newUser({
      variables: { TOLLGATE_FACILITATOR: world.facilitator.url, TOLLGATE_SHOP_PASSWORD: SHOP_PASSWORD },
    })
    const email = `${user.address.toLowerCase()}@shop.example`
    expect(await user.json(['shop', 'signup', '--email', email])).toMatchObject({ email })
    const key = await user.json<{ clientId: string; token: string }>([
      ...['shop', 'keys', 'create', 'Weather shop', '--scope', 'verify,supported', '--ttl-hours', '2'],
    ])
    const supported = () =>
      fetch(`${world.facilitator.url}/api/v1/supported`, {
        headers: { 'X-Client-ID': key.clientId, 'X-Client-Token': key.token },
      })
    expect((await supported()).status).toBe(200)
    expect((await user.run(['shop', 'keys', 'create', 'a', '--scope', 'foo'])).exitCode).toBe(2)
    const listed = await user.run(['shop', 'keys', 'list'], {
      TOLLGATE_FACILITATOR: `${world.facilitator.url}/api/v1`,
    })
    expect(listed.stdout).toMatch(new RegExp(`${key.clientId} +Weather shop +verify,supported`))
    expect(listed.stdout).not.toContain(key.token)
    expect((await user.run(['shop', 'keys', 'delete', key.clientId])).exitCode).toBe(0)
    expect((await supported()).status).toBe(401)

    expect(await user.json(['shop', 'settlements', '--by', 'all'])).toMatchObject([{ settled: 0, failed: 0 }])
    expect((await user.run(['shop', 'metrics'])).exitCode).toBe(0)

    const state = join(user.home, '.local/state/tollgate')
    for (const name of readdirSync(join(state, 'values')))
      expect(statSync(join(state, 'values', name)).mode & 0o777).toBe(0o600)
    const storage = fileStorage(state)
    const [session = ''] = await storage.list('shop/')
    const stored = (await storage.get(session)) ?? ''
    expect(stored).not.toContain(SHOP_PASSWORD)
    // An access token that has ended is renewed.
    await storage.set(session, JSON.stringify({ ...(JSON.parse(stored) as object), accessToken: 'ended' }))
    expect(await user.json(['shop', 'keys', 'list'])).toEqual([])
    expect(await storage.get(session)).not.toContain('ended')
    expect((await user.run(['shop', 'logout'])).exitCode).toBe(0)
    const loggedOut = await user.run(['shop', 'keys', 'list'])
    expect(loggedOut.exitCode).toBe(1)
    expect(loggedOut.stderr).toContain('tollgate shop login')
    const login = await user.run(['shop', 'login', '--email', email])
    expect(login.exitCode).toBe(0)
  })
})

test('no output of all these has had a key, a mnemonic or a password', () => {
  const printed = lines.map((line) => line.printed()).join('\n')
  expect(printed.length).toBeGreaterThan(1000)
  expect(secrets.filter((secret) => printed.includes(secret))).toEqual([])
})

const isPayment = ({ headers }: IncomingMessage) =>
  headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined
