import { closeAll, emptyDatabase, migratedDatabase, runBin, runMain } from '@tollgate/testing'
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { main } from './cli'
import { planOf, providerOf } from '../testing/catalog'

const folder = mkdtempSync(join(tmpdir(), 'catalog-'))
afterAll(async () => {
  await closeAll()
  rmSync(folder, { recursive: true, force: true })
})

const gateway = (args: string[], environment?: NodeJS.ProcessEnv) => runMain(main, args, environment)
function fileWith(content: string | Buffer, name = 'catalog.yaml') {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}
const catalog = {
  plans: [planOf()],
  providers: [providerOf({ chain_id: '1', rpc: ['https://node.example'] })],
}
const valid = () => fileWith(stringify(catalog))

describe('gateway', () => {
  test('prints its help', async () => {
    for (const args of [['--help'], ['--unknown', '--help']])
      expect(await gateway(args)).toMatchObject({
        code: 0,
        out: expect.stringContaining('catalog apply') as string,
        err: '',
      })
    for (const args of [
      ['catalog', '--help'],
      ['catalog', 'apply', '-h'],
      ['catalog', 'apply', '--unknown', '--help'],
    ])
      expect(await gateway(args)).toMatchObject({
        code: 0,
        out: expect.stringContaining('--dry-run') as string,
        err: '',
      })
  })

  test('warns that providers are trusted with sign-ins', async () => {
    const { out } = await gateway(['catalog', '--help'])
    expect(out.replace(/\s+/g, ' ')).toMatch(
      /provider of a plan's chain .*\(EIP-1271\).*use nodes that you trust/,
    )
  })

  test.each([
    [[], 'command missing'],
    [['serve'], 'unknown command "serve"'],
    [['serve', '--help'], 'unknown command "serve"'],
    [['--dry-run', 'catalog', 'apply', 'f'], 'options come after the command, so not --dry-run'],
    [['catalog', '--dry-run', 'apply', 'f'], 'options come after the command, so not --dry-run'],
    [['catalog'], 'subcommand of catalog missing'],
    [['catalog', 'aply', 'f'], 'unknown command "catalog aply"'],
    [['catalog', 'apply'], 'catalog apply requires a file'],
    [['catalog', 'apply', 'f', 'g'], 'unexpected "g"'],
    [['catalog', 'apply', 'f', '--force'], '--force'],
    [['catalog', 'apply', 'f', '--dry-run=yes'], '--dry-run'],
    [['catalog', 'apply', 'f', '--shared-transaction'], '--shared-transaction'],
  ])('exits with 2, the reason and the help for %j', async (args, reason) => {
    const { code, out, err } = await gateway(args, { DATABASE_URL: 'postgresql://h/d' })
    expect([code, out]).toEqual([2, ''])
    expect(err).toContain(reason)
    expect(err).toContain('gateway catalog apply FILE [--dry-run]')
  })

  test('refuses an argument of audit with the help of audit', async () => {
    const { code, err } = await gateway(['audit', 'all'], { DATABASE_URL: 'postgresql://h/d' })
    expect(code).toBe(2)
    expect(err).toContain('unexpected "all"')
    expect(err).toMatch(/Exits with 1 if\s+there is one\./)
  })

  test('exits with 78 if DATABASE_URL is not set', async () => {
    const { code, err } = await gateway(['catalog', 'apply', valid()])
    expect(code).toBe(78)
    expect(err).toContain('DATABASE_URL is not set')
  })
})

describe('gateway catalog apply', () => {
  test.each([
    ['is not there', () => join(folder, 'none.yaml'), 'no such file'],
    ['is a directory', () => folder, 'is a directory'],
    ['is empty', () => fileWith(''), 'the file is empty'],
    ['is no UTF-8', () => fileWith(Buffer.from([0xff, 0xfe, 0x70, 0])), 'is not text in UTF-8'],
    ['has 50 MB', () => bigFile(), 'larger than 256 KiB'],
    ['is nested too deeply', () => fileWith('['.repeat(200_000)), 'line 1, column 65: is nested too deep'],
    [
      'is not valid',
      () => fileWith('plans: []\nprice: 1\nproviders: []\n'),
      'line 2, column 1: price: is nothing',
    ],
  ])('refuses a file that %s, without connecting to the database', async (_, file, reason) => {
    const DATABASE_URL = 'postgresql://user:hunter2@127.0.0.1:1/none'
    const { code, out, err } = await gateway(['catalog', 'apply', file()], { DATABASE_URL })
    expect([code, out]).toEqual([1, ''])
    expect(err).toContain(reason)
  })

  test('refuses a node by http:// on a public host in production, and takes it elsewhere', async () => {
    const provider = providerOf({ chain_id: '1', rpc: ['http://node.example/hidden'] })
    const file = fileWith(stringify({ plans: [planOf()], providers: [provider] }), 'plain.yaml')
    const DATABASE_URL = await migratedDatabase('gateway')
    const apply = (more: NodeJS.ProcessEnv) =>
      gateway(['catalog', 'apply', file, '--dry-run'], { DATABASE_URL, ...more })
    for (const NODE_ENV of ['production', 'production ']) {
      const { code, out, err } = await apply({ NODE_ENV })
      expect([code, out]).toEqual([1, ''])
      expect(err).toContain('http:// to a public host')
      expect(err).not.toContain('hidden')
    }
    expect(await apply({ NODE_ENV: 'Production' })).toMatchObject({
      code: 78,
      err: expect.stringContaining('NODE_ENV: expected production') as string,
    })
    expect(await apply({})).toMatchObject({ code: 0 })
  })

  test('refuses an active provider whose secret is missing, and a dry run warns', async () => {
    const DATABASE_URL = await migratedDatabase('gateway')
    const keyed = (rpc: string, active = true) => providerOf({ chain_id: '1', rpc: [rpc], active })
    const file = (provider: object) =>
      fileWith(stringify({ plans: [planOf()], providers: [provider] }), 'keyed.yaml')
    const apply = (provider: object, more: NodeJS.ProcessEnv = {}, ...options: string[]) =>
      gateway(['catalog', 'apply', file(provider), ...options], { DATABASE_URL, ...more })
    const lacking = keyed('https://node.example/${env:NODE_KEY}/${file:/nowhere/key}')
    const problems = [
      'provider "provider-1" (evm, 1): the variable NODE_KEY is not set',
      'provider "provider-1" (evm, 1): the file /nowhere/key is not there',
    ]
    expect(await apply(lacking)).toEqual({
      code: 1,
      out: '',
      err: `gateway: The catalog was not applied:\n${problems.map((line) => `  ${line}\n`).join('')}`,
    })
    expect(await apply(lacking, {}, '--dry-run')).toMatchObject({
      code: 0,
      err: problems.map((line) => `warning: ${line}\n`).join(''),
    })
    expect(await apply(keyed('https://node.example/${env:NODE_KEY}', false))).toMatchObject({ code: 0 })
    const key = 'of-a-secret'
    expect(await apply(keyed('${env:NODE_URL}'), { NODE_URL: `http://node.example/${key}` })).toMatchObject({
      code: 0,
      err: '',
    })
    const insecure = await apply(keyed('${env:NODE_URL}'), {
      NODE_URL: `http://node.example/${key}`,
      NODE_ENV: 'production',
    })
    expect(insecure).toMatchObject({
      code: 1,
      err: expect.stringContaining('http:// to a public host') as string,
    })
    expect(insecure.err).not.toContain(key)
  })

  test('warns of a key that is written into a URL, and shows it nowhere', async () => {
    const DATABASE_URL = await migratedDatabase('gateway')
    const apply = (rpc: string) => {
      const providers = [providerOf({ chain_id: '1', rpc: [rpc] })]
      const file = fileWith(stringify({ plans: [planOf()], providers }), 'open-key.yaml')
      return gateway(['catalog', 'apply', file], { DATABASE_URL })
    }
    const key = '0123456789abcdef0123456789abcdef'
    const written = await apply(`https://node.example/v3/${key}`)
    expect(written).toMatchObject({ code: 0, err: expect.stringContaining('seems to hold a key') as string })
    const replaced = await apply('https://node.example/v3')
    expect(replaced.out).toBe(
      '~ provider "provider-1" (evm, 1) rpc: ["https://node.example/v3/[key]"] -> ["https://node.example/v3"]\n',
    )
    expect(written.out + written.err).not.toContain(key)
  })

  test('prints its changes, and none when repeated', async () => {
    const DATABASE_URL = await migratedDatabase('gateway')
    const apply = (...more: string[]) => gateway(['catalog', 'apply', valid(), ...more], { DATABASE_URL })
    const changes = '+ plan 1 "Starter"\n+ provider "provider-1" (evm, 1)\n'
    expect(await apply('--dry-run')).toEqual({
      code: 0,
      out: `dry run: nothing is written\n${changes}`,
      err: '',
    })
    expect(await apply()).toEqual({ code: 0, out: changes, err: '' })
    expect(await apply()).toEqual({ code: 0, out: 'nothing changed\n', err: '' })
    const [first, second] = ['first', 'second'].map((provider_id) =>
      providerOf({ provider_id, chain_id: '1', rpc: ['https://node.example'] }),
    )
    const providers = [first, { ...second, methods: { eth_getLogs: 5 } }]
    const weighted = fileWith(stringify({ plans: [planOf()], providers }), 'weighted.yaml')
    expect(await gateway(['catalog', 'apply', weighted, '--dry-run'], { DATABASE_URL })).toMatchObject({
      code: 0,
      err: `warning: "second" of eip155:1 has eth_getLogs: 5 under methods without effect; those of the chain's first provider, "first", are charged\n`,
    })
    const nothing = fileWith('plans: []\nproviders: []\n', 'nothing.yaml')
    expect(await gateway(['catalog', 'apply', nothing], { DATABASE_URL })).toEqual({
      code: 0,
      out: '- plan 1 retired\n- provider "provider-1" (evm, 1) retired\n',
      err: 'warning: no plan is sold after this\nwarning: no provider serves after this\n',
    })
  })

  test('names the missing migrations, and never the password', async () => {
    const DATABASE_URL = await emptyDatabase()
    const { password } = new URL(DATABASE_URL)
    const { code, err } = await gateway(['catalog', 'apply', valid()], { DATABASE_URL })
    expect([code, err]).toEqual([1, expect.stringContaining('run its migrations first')])
    if (password !== '') expect(err).not.toContain(password)
  })

  test('names the unavailable database, and never the password', async () => {
    const url = Object.assign(new URL(await migratedDatabase('gateway')), { pathname: 'nowhere' })
    const { code, err } = await gateway(['catalog', 'apply', valid()], { DATABASE_URL: url.href })
    expect([code, err]).toEqual([1, expect.stringContaining('the database does not exist')])
    if (url.password !== '') expect(err).not.toContain(`:${url.password}@`)
  })
})

test('bin/gateway.js runs it', async () => {
  const bin = join(__dirname, '../../bin/gateway.js')
  const DATABASE_URL = await migratedDatabase('gateway')
  expect(await runBin(bin, ['catalog', 'apply', valid()], { DATABASE_URL })).toEqual([
    0,
    '+ plan 1 "Starter"\n+ provider "provider-1" (evm, 1)\n',
    '',
  ])
  expect(await runBin(bin, ['catalog', 'apply'])).toEqual([2, '', expect.stringContaining('requires a file')])
  const complexKey = fileWith('? [a]\n: 1\n', 'complex.yaml')
  expect(await runBin(bin, ['catalog', 'apply', complexKey], { DATABASE_URL })).toEqual([
    1,
    '',
    expect.stringMatching(/^gateway: The catalog is not valid:\n {2}line 1, /),
  ])
})

function bigFile() {
  const file = fileWith('plans: []\n', 'big.yaml')
  truncateSync(file, 50_000_000)
  return file
}
