import { build } from 'esbuild'
import { type HDNodeWallet } from 'ethers'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { root } from './world'

const executablePath = [process.env['CHROMIUM'], '/usr/bin/chromium', '/usr/bin/google-chrome'].find(
  (path) => path !== undefined && existsSync(path),
)

/** Without a browser on this machine the tests are skipped, and the runner names them. */
export const describeInBrowser = executablePath === undefined ? describe.skip : describe

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export type Browser = Awaited<ReturnType<typeof openBrowser>>

/** A browser with `script` on an origin of its own, as a bundler makes it for a page. `functions` are of Node. */
export async function openBrowser(script: string, functions: Record<string, (...args: never[]) => unknown>) {
  const bundle = await bundleOf(script)
  const server = createServer((request, response) => {
    const isScript = request.url === '/main.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? bundle : '<!doctype html><script type="module" src="/main.js"></script>')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { browser, context, errors } = await launch(functions)

  return {
    /** Of all tabs: what they threw and did not catch. */
    errors,
    async openTab(): Promise<Page> {
      const page = await context.newPage()
      await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
      return page
    },
    async close(): Promise<void> {
      await browser.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function launch(functions: Record<string, (...args: never[]) => unknown>) {
  const browser = await chromium.launch({ executablePath: executablePath ?? '', args: ARGUMENTS })
  const context = await browser.newContext()
  for (const [name, run] of Object.entries(functions)) await context.exposeFunction(name, run)
  const errors: string[] = []
  context.on('weberror', (error) => errors.push(error.error().message))
  return { browser, context, errors }
}

type KeyWallet = Pick<HDNodeWallet, 'address' | 'signMessage' | 'signTypedData'>

/** A page with `window.ethereum`, as a wallet's extension provides it, on the chain of the payments. */
export async function openWalletPage(wallet: KeyWallet) {
  const request = (method: string, params: string[]) => answerAsWallet(wallet, method, params)
  const { browser, context, errors } = await launch({ walletRequest: request })
  await context.addInitScript(
    'window.ethereum = { request: ({ method, params = [] }) => walletRequest(method, params) }',
  )
  return { page: await context.newPage(), errors, close: () => browser.close() }
}

/** What an EIP-1193 wallet that confirms everything answers. */
export async function answerAsWallet(wallet: KeyWallet, method: string, [first = '', second = '']: string[]) {
  if (method === 'eth_requestAccounts') return [wallet.address]
  if (method === 'eth_chainId') return '0x14a34'
  if (method === 'personal_sign') return wallet.signMessage(Buffer.from(first.slice(2), 'hex'))
  if (method !== 'eth_signTypedData_v4') throw new Error(`The wallet has no ${method}`)
  const { domain, types, message } = JSON.parse(second) as Record<string, Record<string, never>>
  const { EIP712Domain: _, ...own } = types ?? {}
  return wallet.signTypedData(domain ?? {}, own, message ?? {})
}

async function bundleOf(script: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: script, resolveDir: root },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    alias: { '@tollgate/wallet': join(root, 'packages/wallet/src/index.ts') },
  })
  return outputFiles[0]?.text ?? ''
}
