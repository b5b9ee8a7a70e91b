import { deploySmartWallet, fundWallet } from '@tollgate/devnet'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startWorld, walletAt, type World } from '../testing/world'
import { examplesOf, type Example, type ShownAnswer } from './document'
import { compile, moduleName } from './programs'
import { startReader } from './reader'
import { startRecorder, type Recorded } from './recorder'
import { operationsOf, refusalsOf, type Reference } from './reference'
import { differences } from './shape'

const root = join(__dirname, '../../..')
const page = readFileSync(join(root, 'docs/api/gateway.md'), 'utf8')
const examples = examplesOf(page)

let world: World
let recorder: Awaited<ReturnType<typeof startRecorder>>
let compiled: ReturnType<typeof compile>
let reader: ReturnType<typeof startReader>
/** How what was opened is closed, last first. */
const closing: (() => unknown)[] = []
/** What the examples of each language have asked the gateway, as `GET /pricing/1`. */
const asked = { bash: new Set<string>(), ts: new Set<string>() }

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-docs-'))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  compiled = compile(
    examples.filter(({ language }) => language === 'ts'),
    folder,
  )
  world = await startWorld()
  closing.push(() => world.stop())
  recorder = await startRecorder(world.gateway.url)
  closing.push(() => recorder.stop())
  const rest = await startRestProvider()
  closing.push(() => rest.close())
  await addToCatalog(rest)
  const { rpcUrl } = world.foundation
  const { privateKey, address } = walletAt(0)
  const smartWallet = await deploySmartWallet(rpcUrl, address)
  await fundWallet(rpcUrl, smartWallet, { usdc: BigInt(world.plan.amount) })
  reader = startReader(folder, { GATEWAY: recorder.url, PRIVATE_KEY: privateKey, SMART_WALLET: smartWallet })
}, 120_000)

afterAll(async () => {
  for (const close of closing.reverse()) await close()
}, 30_000)

/** The development network has none: one that knows the supply of a single coin. */
async function startRestProvider(): Promise<Server> {
  const server = createServer((req, res) => {
    const isKnown = req.url === '/cosmos/bank/v1beta1/supply/by_denom?denom=uosmo'
    res.writeHead(isKnown ? 200 : 404, { 'content-type': 'application/json' })
    res.end(isKnown ? '{"amount":{"denom":"uosmo","amount":"687433061120203"}}' : '{"code":5}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

async function addToCatalog(rest: Server) {
  const file = join(world.folder, 'catalog.yaml')
  const catalog = JSON.parse(readFileSync(file, 'utf8')) as { providers: object[] }
  catalog.providers.push({
    provider_id: 'osmosis',
    category: 'cosmos',
    chain_id: 'osmosis-1',
    rest: [`http://127.0.0.1:${(rest.address() as AddressInfo).port}`],
    description: 'Osmosis',
  })
  writeFileSync(file, JSON.stringify(catalog))
  const command = [join(root, 'apps/gateway/bin/gateway.js'), 'catalog', 'apply', file]
  await promisify(execFile)(process.execPath, command, {
    env: { ...process.env, DATABASE_URL: world.foundation.postgres.gateway },
    timeout: 30_000,
  })
}

let wallets = 0

/** A program that pays by itself is given a wallet that has no credits. */
const variablesOf = ({ text }: Example) =>
  /from '(\.\/pay\.js|x402-fetch)'/.test(text) && !text.includes('SMART_WALLET')
    ? { PRIVATE_KEY: walletAt(++wallets).privateKey }
    : {}

/** Runs an example as a reader would, and tells what the gateway answered it. */
async function run(example: Example): Promise<Recorded[]> {
  recorder.take()
  if (example.language === 'bash') await reader.shell(example.text)
  else await reader.program(compiled.programOf(example), variablesOf(example))
  const answers = recorder.take()
  for (const { method, path } of answers) asked[example.language].add(`${method} ${path}`)
  return answers
}

/** In what the last answer that came is not the one that the page shows. */
function mistakesIn(shown: ShownAnswer, came: Recorded | undefined): string[] {
  if (!came) return ['nothing was asked']
  if (came.status !== shown.status) return [`came with status ${came.status}: ${came.body}`]
  const receipt = String(came.headers['x-payment-response'])
  const text = shown.inHeader ? Buffer.from(receipt, 'base64').toString() : came.body
  return differences(shown.value, JSON.parse(text))
}

describe('docs/api/gateway.md', () => {
  test('has TypeScript that compiles', () => {
    expect(compiled.errors).toEqual([])
  })

  const named = examples.map((example): [string, Example] => [
    `${example.heading} (${example.language}, line ${example.line})`,
    example,
  ])
  test.each(named)('%s runs, and is answered as shown', async (_, example) => {
    const answers = await run(example)
    if (moduleName(example) !== undefined) return
    const announced = [402, ...example.answers.map(({ status }) => status)]
    const failed = answers.filter(({ status }) => status >= 300 && !announced.includes(status))
    expect(failed.map(({ method, path, body }) => [method, path, body])).toEqual([])
    const mistakes = example.answers.flatMap((shown) =>
      mistakesIn(shown, answers.at(-1)).map((mistake) => `line ${shown.line}: ${mistake}`),
    )
    expect(mistakes).toEqual([])
  })

  describe('leaves out nothing of /openapi.json:', () => {
    let reference: Reference
    beforeAll(async () => {
      reference = (await (await fetch(`${world.gateway.url}/openapi.json`)).json()) as Reference
    })

    test.each(['bash', 'ts'] as const)('every operation is asked in %s', (language) => {
      const requests = [...asked[language]]
      const missing = operationsOf(reference).filter(({ matches }) => !requests.some(matches))
      expect(missing.map(({ name }) => name)).toEqual([])
    })

    test('every refusal stands in the table of errors, and no other', () => {
      const rows = [...page.matchAll(/^\| (\d{3}) +\| `([A-Z_]+)`/gm)].map(
        ([, status, code]) => `${status} ${code}`,
      )
      // Of paths that are described with other methods only.
      const described = refusalsOf(reference).add('405 METHOD_NOT_ALLOWED')
      expect(rows.sort()).toEqual([...described].sort())
    })
  })
})
