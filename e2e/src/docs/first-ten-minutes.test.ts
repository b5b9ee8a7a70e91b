import { freePort } from '@tollgate/processes'
import { Wallet } from 'ethers'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { tokenAt } from '../testing/chain'
import { root, startWorld, walletAt, type World } from '../testing/world'
import { examplesOf, type Example, type ShownAnswer } from './document'
import { compile } from './programs'
import { startRecorder } from './recorder'
import { differences } from './shape'
import { startShell } from './shell'

const page = readFileSync(join(root, 'packages/facilitator-client/README.md'), 'utf8')
const examples = examplesOf(page)
const payer = walletAt(0)
const payTo = Wallet.createRandom().address

let world: World
let token: ReturnType<typeof tokenAt>
let recorder: Awaited<ReturnType<typeof startRecorder>>
let compiled: ReturnType<typeof compile>
let shell: ReturnType<typeof startShell>
const closing: (() => unknown)[] = []
const printed = new Map<Example, string>()

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-shop-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  compiled = compile(
    examples.filter(({ language }) => language === 'ts'),
    folder,
  )
  world = await startWorld()
  closing.push(() => world.stop())
  token = tokenAt(world.infrastructure.rpcUrl)
  closing.push(() => token.close())
  recorder = await startRecorder(world.facilitator.url)
  closing.push(() => recorder.stop())
  shell = startShell(folder, {
    FACILITATOR: recorder.url,
    PRIVATE_KEY: payer.privateKey,
    PAY_TO: payTo,
    PORT: String(await freePort()),
    PORT_V2: String(await freePort()),
  })
  closing.push(() => shell.stop())
}, 120_000)

afterAll(async () => {
  for (const close of closing.reverse()) await close()
}, 30_000)

function jsonIn(text: string): unknown {
  const lines = text.trimEnd().split(/\r?\n/)
  for (let at = 0; at < lines.length; at++)
    if (/^[{[]/.test(lines[at] ?? '')) return JSON.parse(lines.slice(at).join('\n'))
  return undefined
}

function outcomeOf(text: string): { status: number; value: unknown } {
  const answered = recorder.take().at(-1)
  const value: unknown = jsonIn(text) ?? JSON.parse(answered?.body ?? 'null')
  const bodyStatus = (value as { status?: unknown }).status
  const status =
    /^HTTP\/1\.1 (\d{3})/m.exec(text)?.[1] ?? (typeof bodyStatus === 'number' ? bodyStatus : answered?.status)
  return { status: Number(status), value }
}

const mistakesIn = (shown: ShownAnswer, came: { status: number; value: unknown }) =>
  came.status === shown.status
    ? differences(shown.value, came.value)
    : [`came with status ${came.status}: ${JSON.stringify(came.value)}`]

describe('packages/facilitator-client/README.md', () => {
  test('has TypeScript that compiles, also with the types of the public x402 libraries', () => {
    expect(compiled.errors).toEqual([])
  })

  const named = examples.map((example): [string, Example] => [
    `${example.heading} (${example.language}, line ${example.line})`,
    example,
  ])
  test.each(named)('%s runs, and leads to what is shown', async (_, example) => {
    recorder.take()
    const { language, text, answers } = example
    const output = await shell.run(language === 'bash' ? text : `node ${compiled.programOf(example)}`)
    printed.set(example, output)
    if (answers.length === 0) return
    const came = outcomeOf(output)
    const mistakes = answers.flatMap((shown) =>
      mistakesIn(shown, came).map((mistake) => `line ${shown.line}: ${mistake}`),
    )
    expect(mistakes).toEqual([])
  })

  test('has its buyer pay a cent in each x402 version, and nothing after the key was revoked', async () => {
    type Bought = { body: unknown; paid: { transaction: string } | null }
    const visits = examples
      .filter(({ text }) => /^node pay/m.test(text))
      .map((example) => jsonIn(printed.get(example) ?? '') as Bought)
    const weather = { weather: 'sunny' }
    expect(visits.map(({ body }) => body)).toEqual([weather, weather, expect.not.objectContaining(weather)])

    const transactions = visits.flatMap(({ paid }) => paid?.transaction ?? [])
    expect(transactions).toHaveLength(2)
    for (const transaction of transactions)
      expect(await token.transfersOf(transaction, payer.address)).toEqual([
        { from: payer.address, to: payTo, value: 10_000n },
      ])
    expect(await token.balanceOf(payTo)).toBe(20_000n)
  })

  test('has registered the route for discovery', async () => {
    const url = `${world.facilitator.url}/api/v1/discovery/resources?payTo=${payTo}`
    const { items } = (await (await fetch(url)).json()) as { items: { resource: string }[] }
    expect(items.map(({ resource }) => new URL(resource).pathname)).toEqual(['/weather'])
  })

  test('names the versions of its commands', () => {
    const installs = [...page.matchAll(/^npm install (.*)$/gm)].map(([, names = '']) => names).join(' ')
    const named = [...installs.matchAll(/(\S+)@(\d\S*)/g)].map(([, name = '', version]) => [name, version])
    const overridden = /overrides\.(\w+)=(\S+)/.exec(page)?.slice(1) ?? []
    expect(named.length).toBeGreaterThan(0)
    for (const [name = '', version] of [...named, overridden]) {
      const manifest = readFileSync(join(root, 'e2e/node_modules', name, 'package.json'), 'utf8')
      expect([name, version]).toEqual([name, (JSON.parse(manifest) as { version: string }).version])
    }
  })
})
