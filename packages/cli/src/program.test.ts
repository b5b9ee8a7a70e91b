import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { runProgram } from './program'
import { createTestTerminal } from './testing/terminal'

async function run(...words: string[]) {
  const { terminal, printed } = createTestTerminal()
  return { exitCode: await runProgram(words, { terminal, version: '1.2.3' }), ...printed }
}

const COMMANDS = [
  '',
  ...['plans', 'buy', 'call', 'credits', 'history', 'payments', 'watch'],
  ...['wallet', 'wallet new', 'wallet import', 'wallet address', 'login', 'logout'],
  ...['keys', 'keys list', 'keys create', 'keys delete'],
  ...['shop', 'shop signup', 'shop login', 'shop logout', 'shop settlements', 'shop metrics'],
  ...['shop keys', 'shop keys list', 'shop keys create', 'shop keys delete'],
  ...['mcp', 'doctor', 'completion'],
]

describe('--help of', () => {
  test.each(COMMANDS)('tollgate %s', async (command) => {
    const { exitCode, stdout, stderr } = await run(...command.split(' ').filter(Boolean), '--help')
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/\nExamples?:\n {2}\$ /)
    expect(stdout).toMatchSnapshot()
  })

  test('every command is known to this test', async () => {
    const { stdout } = await run('completion', 'bash')
    const known = [...stdout.matchAll(/^ {4}"([^"]*)"\) suggestions=/gm)].map(([, words]) => words)
    expect(known.sort()).toEqual([...COMMANDS, 'help'].sort())
  })
})

test('the version', async () => {
  expect(await run('--version')).toMatchObject({ exitCode: 0, stdout: '1.2.3\n' })
})

test.each(['bash', 'zsh', 'fish'])('the completion of %s', async (shell) => {
  const { exitCode, stdout } = await run('completion', shell)
  expect(exitCode).toBe(0)
  expect(stdout).toMatchSnapshot()
})

test.each([
  [['sell']],
  [['call']],
  [['login', 'now']],
  [['plans', '--colour']],
  [['keys', 'rename']],
  [['completion', 'csh']],
  [['plans']],
  [['credits', '--url', 'http://127.0.0.1']],
  [['shop', 'login']],
])('%j is wrong usage', async (words) => {
  const { exitCode, stdout, stderr } = await run(...words)
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(stderr).not.toBe('')
})

test.each([
  [['sell', '--json']],
  [['--json']],
  [['keys', '--json']],
  [['--json', 'login', 'now']],
  [['plans', '--json', '--colour']],
  [['completion', 'csh', '--json']],
  [['shop', 'login', '--json']],
  [['plans', '--json']],
  [['wallet', 'new', '--json']],
])('%j is wrong usage, as JSON', async (words) => {
  const { exitCode, stdout, stderr } = await run(...words)
  expect([exitCode, stdout]).toEqual([2, ''])
  expect(JSON.parse(stderr)).toEqual({
    error: {
      code: 'USAGE',
      message: expect.stringMatching(/^[^\n]{10,}$/) as string,
      advice: '',
      exit_code: 2,
    },
  })
})

test('an unknown command points to the list of commands', async () => {
  expect((await run('zzzzzz')).stderr).toBe(
    "Error: unknown command 'zzzzzz'\n`tollgate --help` lists the commands\n",
  )
  expect((await run('cal', '--json')).stderr).toContain('`tollgate --help` lists the commands')
})

test('--json is an argument after --', async () => {
  expect((await run('sell', '--', '--json')).stderr).toMatch(/^Error: /)
})

test('--cosmos takes no other word', async () => {
  const environment = { MNEMONIC: 'test test test test test test test test test test test junk' }
  const addressOf = async (...words: string[]) => {
    const { terminal, printed } = createTestTerminal({ environment })
    await runProgram(words, { terminal, version: '1.2.3' })
    return printed.stdout.trim()
  }
  const cosmos = await addressOf('--cosmos', 'wallet', 'address')
  expect(cosmos).toMatch(/^cosmos1/)
  expect(await addressOf('wallet', 'address', '--cosmos-prefix', 'osmo')).toMatch(/^osmo1/)
  expect((await run('wallet', 'address', '--cosmos=osmo')).exitCode).toBe(2)
})

test('a key that is given as an argument is not printed again', async () => {
  const key = 'ab'.repeat(32)
  for (const words of [[key], ['login', `--private-key=${key}`], ['login', `0x${key}`], [key, '--json']]) {
    const { exitCode, stderr } = await run(...words)
    expect(exitCode).toBe(2)
    expect(stderr).not.toContain(key)
  }
})

test('a key that is given as a method, a chain, a label or a parameter is neither sent nor printed', async () => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    response.writeHead(500).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const environment = { TOLLGATE_URL: url, PRIVATE_KEY: `0x${'cd'.repeat(32)}`, TOLLGATE_FOLDER: tmpdir() }
  const key = 'ab'.repeat(32)
  const mnemonic = 'test test test test test test test test test test test junk'
  for (const words of [
    ['call', '84532', `0x${key}`],
    ['call', '84532', key.toUpperCase()],
    ['call', key, 'eth_chainId'],
    ['call', '84532', mnemonic],
    ['call', '84532', 'eth_sign', `0x${'CD'.repeat(32)}`],
    ['call', '84532', `0x${key}`, '--json'],
    ['keys', 'create', `my key 0x${key}`],
  ]) {
    const { terminal, printed } = createTestTerminal({ environment })
    expect([words, await runProgram(words, { terminal, version: '1.2.3' })]).toEqual([words, 2])
    expect(printed.stdout + printed.stderr).not.toMatch(/abab|cdcd|junk/i)
  }
  expect(requests).toEqual([])
  server.close()
})

test.each<[string, string[], Record<string, string>]>([
  ['a key as the file of a keystore', ['wallet', 'address'], { TOLLGATE_KEYSTORE: `0x${'ab'.repeat(32)}` }],
  [
    'a password as its file',
    ['wallet', 'new', '/nonexistent/wallet.json', '--password-file', 'hunter2secret'],
    {},
  ],
])('%s is not printed', async (_, words, environment) => {
  const { terminal, printed } = createTestTerminal({ environment })
  expect(await runProgram(words, { terminal, version: '1.2.3' })).toBe(2)
  expect(printed.stderr).toMatch(/cannot be read/)
  expect(printed.stderr).not.toMatch(/abab|hunter/)
})

test('TOLLGATE_ASSETS may have blanks, and a comma at its end', async () => {
  const environment = {
    TOLLGATE_ASSETS: 'cosmos:a-1/uatom:6, cosmos:b-1/uatom:6 ,',
    TOLLGATE_MAX_DAY: '1',
    PRIVATE_KEY: `0x${'1'.repeat(64)}`,
  }
  const { terminal, printed } = createTestTerminal({ environment })
  await runProgram(['call', '1', 'eth_chainId', '--url', 'http://127.0.0.1:2'], {
    terminal,
    version: '1.2.3',
  })
  expect(printed.stderr).toContain('--max-day needs --max-payment')
})
