import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { install, root, step } from './prepare.mjs'

const PROJECTS = ['packages/wallet', 'packages/cli']

const folder = join(root, 'examples')
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)

const HELP = `Usage: npm run example -- NAME [--devnet FILE] [--port PORT]

Runs an example against what "npm start" runs: installs and builds what it needs, gives it a wallet with test money or, for a paid
route, a client key of the facilitator, and starts it.

  NAME            ${names.join(', ')}
  --devnet FILE   addresses and test wallets (default: .tollgate/devnet.json)
  --port PORT     of a page or a paid route (default: 4021)
  --help          this text
`

async function main() {
  const { values, positionals } = parseArgs({
    options: {
      help: { type: 'boolean' },
      devnet: { type: 'string', default: join(root, '.tollgate/devnet.json') },
      port: { type: 'string', default: '4021' },
    },
    allowPositionals: true,
  })
  const [name] = positionals
  if (values.help) return process.stdout.write(HELP)
  if (!names.includes(name)) {
    process.stderr.write(HELP)
    return (process.exitCode = 2)
  }
  const devnet = readDevnet(values.devnet)
  if (name !== 'paid-fastapi') {
    await install(true)
    await step('build', process.execPath, ['node_modules/typescript/bin/tsc', '--build', ...PROJECTS])
  }
  const env = {
    ...process.env,
    ...(await environment(name, devnet)),
    PORT: values.port,
    NEXT_TELEMETRY_DISABLED: '1',
  }
  const [command, ...args] = await commandOf(name, values.port)
  const child = spawn(command, args, { cwd: join(folder, name), stdio: 'inherit', env })
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => child.kill(signal))
  process.exitCode = await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 0))
  })
}

function readDevnet(file) {
  if (!existsSync(file)) throw new Error(`${file} is missing: run "npm start" in another terminal first`)
  return JSON.parse(readFileSync(file, 'utf8'))
}

async function environment(name, { gateway, facilitator, networks: [evm] }) {
  if (!name.startsWith('paid-')) {
    const [, , , wallet] = evm.wallets
    return {
      GATEWAY: gateway.url,
      TOLLGATE_URL: gateway.url,
      TOLLGATE_FOLDER: '.wallet',
      PRIVATE_KEY: wallet.privateKey,
      ASSET: evm.asset,
      VITE_GATEWAY: gateway.url,
      VITE_ASSET: evm.asset,
    }
  }
  const key = await newClientKey(facilitator.apiUrl)
  const [, , merchant] = evm.wallets
  return { FACILITATOR: facilitator.url, ...key, PAY_TO: merchant.address }
}

/** A new merchant's, as docs/api/facilitator.md describes. */
async function newClientKey(api) {
  const post = async (path, body, headers = {}) => {
    const answer = await fetch(`${api}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`POST ${path} was answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()).data
  }
  const account = {
    email: `${randomBytes(8).toString('hex')}@example.com`,
    password: randomBytes(12).toString('hex'),
  }
  await post('/signup', account)
  const { access_token: token } = await post('/login', account)
  const { client } = await post('/clients', { title: 'Example' }, { authorization: `Bearer ${token}` })
  return { CLIENT_ID: client.clientId, CLIENT_TOKEN: client.token }
}

async function commandOf(name, port) {
  const bin = (program) => join(folder, name, 'node_modules', program)
  switch (name) {
    case 'node-script':
      return [process.execPath, 'call.mjs']
    case 'mcp-agent':
      return [process.execPath, 'agent.mjs']
    case 'wallet-page':
      return [
        process.execPath,
        bin('vite/bin/vite.js'),
        '--host',
        '127.0.0.1',
        '--port',
        port,
        '--strictPort',
      ]
    case 'paid-next':
      return [process.execPath, bin('next/dist/bin/next'), 'dev', '--hostname', '127.0.0.1', '--port', port]
    case 'paid-fastapi':
      return [await python(), 'server.py']
    default:
      return [process.execPath, 'server.mjs']
  }
}

/** The Python of a virtual environment in the example's folder. */
async function python() {
  const environmentFolder = join(folder, 'paid-fastapi/.venv')
  const program = join(environmentFolder, 'bin/python')
  const requirements = join(folder, 'paid-fastapi/requirements.txt')
  if (spawnSync(program, ['-c', 'import x402, uvicorn, siwe']).status === 0) return program
  await step('virtual environment', 'python3', ['-m', 'venv', environmentFolder])
  const pip = ['-m', 'pip', '--disable-pip-version-check', 'install', '--quiet', '--no-compile']
  await step('Python packages', program, [...pip, '--requirement', requirements])
  return program
}

main().catch((error) => {
  console.error(`npm run example: ${error.message}`)
  process.exitCode = error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1
})
