import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { advice } from './errors.js'

const execute = promisify(execFile)
const folder = dirname(__dirname)
const root = join(folder, '../..')

type Manifest = {
  name: string
  version: string
  exports: object
  dependencies: Record<string, string>
  peerDependencies: Record<string, string>
  peerDependenciesMeta: object
}
const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
const { name } = manifest
const entries = Object.keys(manifest.exports).map((path) => `${name}${path.slice(1)}`)
const peers = Object.keys(manifest.peerDependencies)

type Bundle = { entry: string; bytes: number; gzip: number; imports: string[] }

let temporary: string
let tarball: string
/** Of these, the peers are installed in the second only. */
let withoutPeers: string
let withPeers: string

beforeAll(async () => {
  temporary = await mkdtemp(join(await realpath(tmpdir()), 'tollgate-wallet-'))
  await run('npm', ['pack', '--pack-destination', temporary], folder)
  tarball = join(temporary, `tollgate-wallet-${manifest.version}.tgz`)
  withoutPeers = join(temporary, 'without-peers')
  await installTarball(withoutPeers)
  withPeers = join(temporary, 'with-peers')
  await cp(withoutPeers, withPeers, { recursive: true })
  for (const peer of peers) await link(peer, withPeers)
}, 300_000)
afterAll(() => rm(temporary, { recursive: true, force: true }))

describe('the tarball', () => {
  test('is what publint accepts, with its suggestions', async () => {
    const output = await node([await bin('publint', 'publint'), tarball, '--strict'])
    expect(output).toMatch(/All good/)
    expect(output).not.toMatch(/Suggestions/)
  })

  /** Node 10 knows no `exports`; this package needs Node 20.19. Every other resolution of each entry is checked. */
  test('has types that attw accepts for import, require and bundlers', async () => {
    const attw = await bin('@arethetypeswrong/cli', 'attw')
    const output = await node([attw, tarball, '--profile', 'node16', '--format', 'json'])
    const { analysis, problems } = JSON.parse(output) as {
      analysis: { entrypoints: Record<string, { resolutions: Record<string, { resolution?: unknown }> }> }
      problems?: object
    }
    const found = Object.entries(analysis.entrypoints)
    expect(found.map(([path]) => `${name}${path.slice(1)}`)).toEqual(entries)
    for (const [, { resolutions }] of found)
      for (const kind of ['node16-cjs', 'node16-esm', 'bundler'])
        expect(resolutions[kind]?.resolution).toBeTruthy()
    expect(Object.keys(problems ?? {}).filter((kind) => kind !== 'NoResolution')).toEqual([])
  })

  test('contains a readme, the license and the build, without tests and source maps', async () => {
    const packed = join(withoutPeers, 'node_modules', name)
    const files = await readdir(packed, { recursive: true, withFileTypes: true })
    const names = files.filter((entry) => entry.isFile()).map((entry) => entry.name)
    expect((await readdir(packed)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
    expect(
      names.filter((file) => !/^[a-z0-9-]+(\.d\.ts|\.js)$|^(package\.json|LICENSE|README\.md)$/.test(file)),
    ).toEqual([])
    expect(await readFile(join(packed, 'LICENSE'), 'utf8')).toBe(
      await readFile(join(root, 'LICENSE'), 'utf8'),
    )
    expect(await readFile(join(packed, 'dist/esm/index.js'), 'utf8')).not.toContain('sourceMappingURL')
  })

  test('explains every error in its readme', async () => {
    const readme = await readFile(join(withoutPeers, 'node_modules', name, 'README.md'), 'utf8')
    for (const [code, text] of Object.entries(advice))
      expect(readme.replaceAll(/ +/g, ' ')).toContain(`| \`${code}\` | ${text} |`)
  })

  test('depends on ranges that begin with the tested version, and on nothing of the workspace', async () => {
    const packed = JSON.parse(
      await readFile(join(withoutPeers, 'node_modules', name, 'package.json'), 'utf8'),
    ) as Manifest
    for (const [dependency, range] of Object.entries(packed.dependencies)) {
      const tested = await readFile(join(await folderOf(dependency, folder), 'package.json'), 'utf8')
      expect([dependency, range]).toEqual([
        dependency,
        `^${(JSON.parse(tested) as { version: string }).version}`,
      ])
    }
    expect(JSON.stringify(packed.peerDependencies)).not.toMatch(/workspace:|catalog:/)
    expect(Object.keys(packed.peerDependenciesMeta)).toEqual(peers)
  })
})

describe('a browser bundle', () => {
  let bundles: Map<string, Bundle>
  beforeAll(async () => {
    const output = await node([join(folder, 'scripts/pack.mjs'), '--json'])
    bundles = new Map((JSON.parse(output) as Bundle[]).map((bundle) => [bundle.entry, bundle]))
  })

  test('of the main entry is below 27 kB with gzip, and imports neither Node nor a peer', () => {
    const { gzip, imports } = bundles.get(name)!
    expect(imports).toEqual([])
    expect(gzip).toBeLessThan(27_000)
  })

  test('of an adapter imports only its own library', () => {
    const own: Record<string, RegExp> = {
      [`${name}/ethers`]: /^ethers(\/|$)/,
      [`${name}/viem`]: /^viem(\/|$)/,
      [`${name}/eip1193`]: /^$/,
      [`${name}/cosmjs`]: /^@cosmjs\/tendermint-rpc$/,
    }
    const adapters = entries.filter((entry) => entry !== name && entry !== `${name}/file-storage`)
    expect(Object.keys(own)).toEqual(adapters)
    for (const entry of adapters)
      expect(bundles.get(entry)!.imports.filter((path) => !own[entry]!.test(path))).toEqual([])
  })

  test('of one small function contains nothing else', () => {
    expect(bundles.get('only isTollgateError')!.bytes).toBeLessThan(200)
  })
})

const MAIN_PROGRAM = `
import { createTollgate, isTollgateError, type Limits, type Plan, type Tollgate, type WalletInput, type WalletStorage } from '${name}'
import { fileStorage } from '${name}/file-storage'
import { tollgateEip1193 } from '${name}/eip1193'

const storage: WalletStorage = fileStorage('payments')
const limits: Limits = { assets: [{ network: 'eip155:84532', asset: '0x00', perPayment: 10_000n }] }
export const open = (wallet: WalletInput): Tollgate =>
  createTollgate({ url: 'https://gateway.example.com', wallet, limits, storage })
export async function main(tollgate: Tollgate): Promise<string> {
  try {
    await tollgateEip1193(tollgate, 84532).request({ method: 'eth_chainId' })
    tollgate.on('paid', ({ amount, transaction }) => [amount satisfies bigint, transaction satisfies string])
    return await tollgate.request<string>('eip155:84532', 'eth_blockNumber')
  } catch (error) {
    if (isTollgateError(error) && error.code === 'LIMIT_REACHED') return error.advice
    throw error
  }
}
// @ts-expect-error: a limit needs the most for one payment
export const noLimit: Limits = { assets: [{ network: 'eip155:84532', asset: '0x00' }] }
// @ts-expect-error: a number is no wallet
export const noWallet: WalletInput = 5
// @ts-expect-error: an object without the functions of a wallet is none
export const emptyWallet: WalletInput = {}
// @ts-expect-error: a plan has no such member
export const misspelled = (plan: Plan) => plan.plan_nmae
`

const PEERS_PROGRAM = `
import { type Tollgate, type WalletInput } from '${name}'
import { tollgateProvider } from '${name}/ethers'
import { tollgateTransport } from '${name}/viem'
import { tollgateRpcClient } from '${name}/cosmjs'
import { type RpcClient } from '@cosmjs/tendermint-rpc'
import { type JsonRpcApiProvider, type JsonRpcSigner, type Signer, type Wallet } from 'ethers'
import { createPublicClient, type EIP1193Provider, type LocalAccount, type WalletClient } from 'viem'

export const wallets = (
  wallet: Signer | Wallet | JsonRpcSigner | LocalAccount | WalletClient | EIP1193Provider,
): WalletInput => wallet

export const ofEthers = (tollgate: Tollgate): JsonRpcApiProvider => tollgateProvider(tollgate, 84532)
export const ofViem = (tollgate: Tollgate): Promise<bigint> =>
  createPublicClient({ transport: tollgateTransport(tollgate, 84532) }).getBlockNumber()
export const ofCosmJs = (tollgate: Tollgate): RpcClient => tollgateRpcClient(tollgate, 'cosmoshub-4')
`

/** Each declaration that was not found would be `any`. */
const ADAPTERS_TYPED = `
type IsAny<T> = 0 extends 1 & T ? true : false
export const isAny: IsAny<
  Parameters<typeof tollgateProvider>[1] | Parameters<typeof tollgateTransport>[1] | Parameters<typeof tollgateRpcClient>[1]
> = false
`

/** Node imports .mts and requires .cts. */
const RESOLUTIONS = [
  ['import or require', ['mts', 'cts'], ['--module', 'nodenext']],
  ['a bundler', ['ts'], ['--module', 'esnext', '--moduleResolution', 'bundler']],
] as const

describe.each(RESOLUTIONS)('a strict program that uses %s', (_, extensions, options) => {
  const typeCheck = async (project: string, program: string, flags: string[]) => {
    const files = extensions.map((extension) => `program.${extension}`)
    for (const file of files) await writeFile(join(project, file), program)
    const tsc = join(dirname(createRequire(__filename).resolve('typescript/package.json')), 'bin/tsc')
    const strict = ['--strict', '--noEmit', '--target', 'es2022', ...options]
    await node([tsc, ...strict, ...flags, ...files], project)
  }

  test('has the types of a browser, without a peer and with every declaration checked', async () => {
    const flags = ['--types', '', '--lib', 'es2022,dom', '--skipLibCheck', 'false']
    await typeCheck(withoutPeers, MAIN_PROGRAM, flags)
  })

  test('has the types of Node, without a peer and with every declaration checked', async () => {
    await link('@types/node', withoutPeers)
    const flags = ['--types', 'node', '--lib', 'es2022', '--skipLibCheck', 'false']
    await typeCheck(withoutPeers, MAIN_PROGRAM, flags)
  })

  test('has the types of the adapters', async () => {
    // The libraries bring two versions of the types of Node, which contradict each other.
    const flags = ['--types', '', '--lib', 'es2022,dom', '--skipLibCheck', 'true']
    await typeCheck(withPeers, PEERS_PROGRAM + ADAPTERS_TYPED, flags)
  })
})

test('the first program of the readme has the right types', async () => {
  const readme = await readFile(join(folder, 'README.md'), 'utf8')
  await writeFile(join(withPeers, 'readme.ts'), /```ts\n(.*?)```/s.exec(readme)?.[1] ?? '')
  await link('@types/node', withPeers)
  const tsc = join(dirname(createRequire(__filename).resolve('typescript/package.json')), 'bin/tsc')
  const module = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node', '--skipLibCheck']
  await node([tsc, '--strict', '--noEmit', '--target', 'es2022', ...module, 'readme.ts'], withPeers)
})

describe('Node', () => {
  const PROGRAMS = {
    import: (used: string[]) => `
const exported = {}
for (const entry of ${JSON.stringify(used)}) exported[entry] = Object.keys(await import(entry)).sort()
console.log(JSON.stringify(exported))`,
    require: (used: string[]) => `
const exported = {}
for (const entry of ${JSON.stringify(used)}) exported[entry] = Object.keys(require(entry)).sort()
console.log(JSON.stringify(exported))`,
  }
  const runProgram = async (project: string, how: keyof typeof PROGRAMS, used: string[]) => {
    const file = join(project, `run-${how}.${how === 'import' ? 'mjs' : 'cjs'}`)
    await writeFile(file, PROGRAMS[how](used))
    const output = await node(['--throw-deprecation', file], project)
    const exported = JSON.parse(output) as Record<string, string[]>
    // Node adds it when it imports CommonJS.
    for (const names of Object.values(exported)) expect(names).not.toContain('default')
    return exported
  }

  test('imports and requires every entry, with the same exports', async () => {
    const imported = await runProgram(withPeers, 'import', entries)
    expect(Object.keys(imported)).toEqual(entries)
    for (const names of Object.values(imported)) expect(names.length).toBeGreaterThan(0)
    const required = await runProgram(withPeers, 'require', entries)
    expect(required).toEqual(imported)
  })

  test('imports and requires the main entry and file-storage without a peer', async () => {
    const used = [name, `${name}/file-storage`, `${name}/eip1193`]
    const imported = await runProgram(withoutPeers, 'import', used)
    expect(imported[name]).toContain('createTollgate')
    expect(await runProgram(withoutPeers, 'require', used)).toEqual(imported)
  })

  test('recognizes an error across both module systems', async () => {
    const file = join(withoutPeers, 'both.mjs')
    await writeFile(
      file,
      `import { createRequire } from 'node:module'
import { TollgateError } from '${name}'
const { isTollgateError, TollgateError: Other } = createRequire(import.meta.url)('${name}')
console.log(Other === TollgateError, isTollgateError(new TollgateError('CLOSED', 'closed')))`,
    )
    expect(await node([file], withoutPeers)).toBe('false true\n')
  })
})

/** An empty project whose only dependencies are the tarball and, from this workspace so that no registry is asked, its own ones. */
async function installTarball(project: string) {
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'empty', private: true }))
  const dependencies = new Map<string, string>()
  await addDependencies(folder, dependencies)
  const copies: string[] = []
  for (const [dependency, path] of dependencies) {
    // Files with the same content are one file with two names in pnpm's store, and npm skips links.
    const copy = join(temporary, 'dependencies', dependency)
    await cp(path, copy, { recursive: true, filter: (file) => file !== join(path, 'node_modules') })
    copies.push(copy)
  }
  const flags = ['--offline', '--install-links', '--ignore-scripts', '--no-audit', '--no-fund']
  await run('npm', ['install', ...flags, tarball, ...copies], project)
}

async function addDependencies(of: string, found: Map<string, string>) {
  const { dependencies = {} } = JSON.parse(await readFile(join(of, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>
  }
  for (const dependency of Object.keys(dependencies)) {
    if (found.has(dependency)) continue
    const path = await folderOf(dependency, of)
    found.set(dependency, path)
    await addDependencies(path, found)
  }
}

async function link(dependency: string, project: string) {
  const path = join(project, 'node_modules', dependency)
  await mkdir(dirname(path), { recursive: true })
  await rm(path, { force: true })
  await symlink(await folderOf(dependency, folder), path)
}

/** `exports` may hide the package.json of a package from `require.resolve`. */
async function folderOf(dependency: string, from: string): Promise<string> {
  for (let at = from; ; at = dirname(at)) {
    const path = await realpath(join(at, 'node_modules', dependency)).catch(() => undefined)
    if (path !== undefined) return path
    if (at === dirname(at)) throw new Error(`${dependency} is not installed for ${from}`)
  }
}

async function bin(dependency: string, program: string): Promise<string> {
  const path = await folderOf(dependency, folder)
  const { bin } = JSON.parse(await readFile(join(path, 'package.json'), 'utf8')) as {
    bin: string | Record<string, string>
  }
  return join(path, typeof bin === 'string' ? bin : bin[program]!)
}

const node = (args: string[], cwd = folder) => run(process.execPath, args, cwd)

/** Returns what it printed. @throws with that if it fails */
async function run(command: string, args: string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await execute(command, args, { cwd, maxBuffer: 2 ** 26 })
    return stdout
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
  }
}
