import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
// @ts-expect-error it has no types
import workerdPath from 'workerd'
import { bundle } from './testing/bundle.js'

const execute = promisify(execFile)
const workerd = workerdPath as string

const OFFER = {
  scheme: 'exact',
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: `0x${'2'.repeat(40)}`,
  amount: '10000',
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}
const REQUIRED = Buffer.from(JSON.stringify({ x402Version: 2, accepts: [OFFER] })).toString('base64')
const ANSWERS = {
  ...{ free: 'free', paid: 'paid', plans: [] },
  moved: expect.stringContaining('redirects to another address') as string,
}

let folder: string
let server: Server
let url: string
const children: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wallet-runtimes-'))
  server = createServer((request, response) => {
    if (request.url === '/free') return response.end('free')
    if (request.url?.startsWith('/gateway/')) return response.end('[]')
    if (request.url?.startsWith('/moved/')) return response.writeHead(302, { location: '/free' }).end()
    if (request.headers['payment-signature'] !== undefined) return response.end('paid')
    return response.writeHead(402, { 'payment-required': REQUIRED }).end()
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

const source = (contents: string) => ({ contents, resolveDir: __dirname, loader: 'ts' as const })

test.each(['esm', 'cjs'] as const)('pays in a bundle for Node as %s, with file storage', async (format) => {
  const file = await bundle({
    stdin: source(`
      import { fileStorage } from './file-storage'
      import { runProgram } from './testing/runtime-program'
      const [url, folder] = process.argv.slice(2)
      void runProgram(url, fileStorage(folder)).then((result) => console.log(JSON.stringify(result)))`),
    ...{ platform: 'node', format, outfile: join(folder, format === 'esm' ? 'node.mjs' : 'node.cjs') },
  })
  const { stdout } = await execute(process.execPath, [file, url, join(folder, format)])
  expect(JSON.parse(stdout)).toEqual(ANSWERS)
})

test('pays in a Cloudflare Worker', async () => {
  await bundle({
    stdin: source(`
      import { runProgram } from './testing/runtime-program'
      export default { fetch: async () => Response.json(await runProgram(${JSON.stringify(url)})) }`),
    ...{ platform: 'browser', format: 'esm', outfile: join(folder, 'worker.mjs') },
  })
  const config = join(folder, 'worker.capnp')
  writeFileSync(config, WORKER)
  const child = spawn(workerd, ['serve', '--control-fd=3', config], {
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
  })
  children.push(child)
  const [line] = (await once(createInterface(child.stdio[3] as NodeJS.ReadableStream), 'line')) as [string]
  const { port } = JSON.parse(line) as { port: number }
  expect(await (await fetch(`http://127.0.0.1:${port}`)).json()).toEqual(ANSWERS)
})

const WORKER = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker", esModule = embed "worker.mjs")],
      compatibilityDate = "2026-01-01",
    )),
    (name = "internet", network = (allow = ["public", "private"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
`
