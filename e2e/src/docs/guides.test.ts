import { developmentCosmosPayTo, developmentCosmosWallets } from '@tollgate/cosmos-devchain'
import { freePort } from '@tollgate/processes'
import { TxRaw, AuthInfo } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tokenAt } from '../testing/chain'
import { root, startWorld, walletAt, type World } from '../testing/world'
import { examplesOf, type Example } from './document'
import { compile } from './programs'
import { startReader } from './reader'
import { differences } from './shape'
import { startShell } from './shell'

const pages = [
  'docs/gasless.md',
  'docs/from-api-keys.md',
  'docs/pricing.md',
  'docs/tokens.md',
  'docs/operate/base-sepolia.md',
]
/** Lines count on from page to page, because a program's file is named after its line. */
const examples = new Map(
  pages.map((page, index) => [
    page,
    examplesOf(readFileSync(join(root, page), 'utf8')).map((example) => ({
      ...example,
      line: example.line + 10_000 * index,
    })),
  ]),
)
const examplesIn = (page: string, language?: Example['language']): Example[] =>
  (examples.get(page) ?? []).filter((example) => language === undefined || example.language === language)

let folder: string
let world: World
let compiled: ReturnType<typeof compile>
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-guides-'))
  compiled = compile(
    pages.flatMap((page) => examplesIn(page, 'ts')),
    folder,
  )
  const command = `#!/bin/sh\nexec node ${join(root, 'packages/cli/dist/main.js')} "$@"\n`
  mkdirSync(join(folder, 'bin'))
  writeFileSync(join(folder, 'bin/tollgate'), command, { mode: 0o755 })
  world = await startWorld()
}, 120_000)
afterAll(async () => {
  await world.stop()
  rmSync(folder, { recursive: true, force: true })
}, 30_000)

test('the programs of the guides compile', () => {
  expect(pages.map((page) => examplesIn(page).length > 0)).toEqual(pages.map(() => true))
  expect(compiled.errors).toEqual([])
})

test('docs/gasless.md runs as written: it finds the fee payer, and signs a payment that names it', async () => {
  const [question, program] = examplesIn('docs/gasless.md')
  const reader = startReader(folder, {
    API: `${world.facilitator.url}/api/v1`,
    COSMOS_RPC: world.infrastructure.cosmos.rpcUrl,
    COSMOS_KEY: developmentCosmosWallets[0]!.privateKey,
    PAY_TO: developmentCosmosPayTo.address,
  })

  const answer = JSON.parse(await reader.shell(question!.text)) as { feePayer: string }
  expect(question!.answers.flatMap(({ value }) => differences(value, answer))).toEqual([])
  const signed = TxRaw.decode(Buffer.from(await reader.program(compiled.programOf(program!)), 'base64'))
  const { fee } = AuthInfo.decode(signed.authInfoBytes)
  expect([fee?.granter, fee?.payer]).toEqual(['', answer.feePayer])
  expect(signed.signatures).toHaveLength(1)
})

test('docs/from-api-keys.md runs as written: unchanged libraries call with an access key, and a program buys by itself', async () => {
  const reader = startReader(folder, {
    PATH: `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    TOLLGATE_URL: world.gateway.url,
    PRIVATE_KEY: walletAt(6).privateKey,
  })
  const [create, call, libraries, program, refill] = examplesIn('docs/from-api-keys.md')
  await reader.shell(create!.text)
  const answer: unknown = JSON.parse(await reader.shell(call!.text))
  expect(call!.answers.map(({ value }) => value)).toEqual([answer])
  const printed = await reader.program(compiled.programOf(libraries!))
  expect(printed).toMatch(/^viem \d+n\nethers \d+\nCosmJS \d+\n$/)
  expect(await reader.program(compiled.programOf(program!))).toMatch(/^\d+n\n$/)
  expect(await reader.shell(refill!.text)).toMatch(/^Bought +100 credits of plan 1\n/)
})

test('docs/pricing.md runs as written: it compares the fee of a settlement with a bundle', async () => {
  const reader = startReader(folder, { RPC: world.infrastructure.rpcUrl })
  const [sum] = examplesIn('docs/pricing.md')
  expect(await reader.shell(sum!.text)).toMatch(
    /^a settlement: 0\.\d+ dollars at 1\.\d+ gwei, \d+\.\d % of a bundle of 0\.01\n.*: \d\.\d+ dollars\n$/,
  )
  const withoutNode = startReader(folder, { RPC: 'http://127.0.0.1:1' })
  await expect(withoutNode.shell(sum!.text)).rejects.toMatchObject({
    stdout: '',
    // Bash may say something of its own start before.
    stderr: expect.stringMatching(
      /^(.*bashrc.*\n)?The node in RPC gave no gas price: it did not answer\n$/,
    ) as string,
  })
})

test('docs/tokens.md shows the refusal that comes', async () => {
  const reader = startReader(folder, {
    FACILITATOR: world.facilitator.url,
    ADMIN_TOKEN: world.secrets.adminToken,
  })
  const [registration] = examplesIn('docs/tokens.md')
  const answer: unknown = JSON.parse(await reader.shell(registration!.text))
  expect(registration!.answers).toMatchObject([{ status: 400, value: answer }])
})

test('docs/operate/base-sepolia.md runs as written, on a chain of the same id: from keys to a call that is paid', async () => {
  const trial = join(folder, 'trial')
  mkdirSync(trial)
  for (const [name, wallet] of [
    ['signer', walletAt(7)],
    ['buyer', walletAt(8)],
  ] as const)
    writeFileSync(join(trial, `${name}.key`), wallet.privateKey)
  const ports = [await freePort(), await freePort()]
  const onFreePorts = (text: string) =>
    text.replaceAll(/(127\.0\.0\.1:|PORT=)808([01])\b/g, (_, before, n) => `${before}${ports[Number(n)]}`)
  const shell = startShell(folder, {
    TRIAL: trial,
    RPC: world.infrastructure.rpcUrl,
    POSTGRES_URL: process.env['TEST_POSTGRES_URL'] ?? '',
    METRICS_PORT: '0',
  })
  try {
    await shell.run(`cd ${root}`)
    const printed = []
    for (const { text, heading } of examplesIn('docs/operate/base-sepolia.md'))
      // The checkout is installed and built.
      if (heading !== 'What do I need?') printed.push(await shell.run(onFreePorts(text)))
    const output = printed.join('')

    expect(output).toContain(`"feePayer":"${walletAt(7).address}"`)
    expect(output).toContain('Bought       100 credits of plan 1\nPaid         0.01 USDC\n')
    const [, payTo = ''] = /recipient (0x\w{40})/.exec(output) ?? []
    const [, transaction = ''] = /sepolia\.basescan\.org\/tx\/(0x\w{64})/.exec(output) ?? []
    const token = tokenAt(world.infrastructure.rpcUrl)
    const transfers = await token.transfersOf(transaction, walletAt(8).address)
    token.close()
    expect(transfers).toEqual([{ from: walletAt(8).address, to: payTo, value: 10_000n }])
  } finally {
    await shell.stop()
  }
})
