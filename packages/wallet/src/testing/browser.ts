import { accessSync, constants } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { delimiter, join } from 'node:path'
import { build } from 'esbuild'
import { chromium, type Page } from 'playwright-core'

const COMMANDS = ['chromium', 'chromium-browser', 'google-chrome']
/** Resolves to this machine, but is not a secure page as 127.0.0.1 is. */
export const INSECURE_HOST = 'insecure.test'

const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  `--host-resolver-rules=MAP ${INSECURE_HOST} 127.0.0.1`,
]

const executablePath = (process.env.PATH ?? '')
  .split(delimiter)
  .flatMap((folder) => COMMANDS.map((command) => join(folder, command)))
  .find(isRunnable)

/** `describe` where there is a Chromium; elsewhere its tests are skipped, and the output says why. */
export function describeInBrowser(name: string, tests: () => void) {
  if (executablePath) describe(name, tests)
  else {
    process.stderr.write(`skipped: ${name} (no chromium on the PATH)\n`)
    describe.skip(`${name} (chromium on the PATH)`, tests)
  }
}

export type TestBrowser = Awaited<ReturnType<typeof openBrowser>>

type BrowserOptions = {
  entry: string
  /** A folder for what outlives the browser; without it nothing does. */
  profile?: string
  /** Of an earlier browser, to have its origin again. */
  port?: number
}

/**
 * Serves `entry`, a TypeScript module, as a bundle whose exports are on `window`, and opens pages of it. Pages share an origin and
 * its storage, and each runs in a process of its own.
 */
export async function openBrowser({ entry, profile, port: wantedPort = 0 }: BrowserOptions) {
  if (!executablePath) throw new Error(`None of ${COMMANDS.join(', ')} is on the PATH`)
  const server = await serve(await bundle(entry), wantedPort)
  const { port } = server.address() as AddressInfo
  const options = { executablePath, args: FLAGS }
  const context = profile
    ? await chromium.launchPersistentContext(profile, options)
    : await (await chromium.launch(options)).newContext()
  const browser = context.browser()!
  const errors: string[] = []
  context.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  context.on('weberror', (error) => errors.push(error.error().message))

  async function processes(): Promise<{ type: string; id: number }[]> {
    const session = await browser.newBrowserCDPSession()
    return (await session.send('SystemInfo.getProcessInfo')).processInfo
  }

  return {
    url: `http://127.0.0.1:${port}`,
    port,
    /** What pages wrote to the console as an error, or did not catch. */
    errors,
    processes,
    async openPage(host = '127.0.0.1'): Promise<Page> {
      const page = await context.newPage()
      await page.goto(`http://${host}:${port}`)
      return page
    },
    /** With SIGKILL, all its processes. `close` is still to be called. */
    async kill() {
      const disconnected = new Promise((resolve) => browser.once('disconnected', resolve))
      for (const { id } of await processes()) killIfAlive(id)
      await disconnected
    },
    async close() {
      await context.close()
      await browser.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function bundle(entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: {
      contents: `import * as exported from ${JSON.stringify(entry)}; Object.assign(window, exported)`,
      resolveDir: __dirname,
    },
    bundle: true,
    write: false,
    platform: 'browser',
    target: 'es2022',
    logLevel: 'silent',
  })
  return outputFiles[0]!.text
}

async function serve(script: string, port: number) {
  const server = createServer((request, response) => {
    const isScript = request.url === '/bundle.js'
    response.setHeader('content-type', isScript ? 'text/javascript; charset=utf-8' : 'text/html')
    response.end(
      isScript
        ? script
        : '<!doctype html><link rel="icon" href="data:,"><script src="/bundle.js"></script><title>Test</title>',
    )
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return server
}

function isRunnable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function killIfAlive(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended with its parent.
  }
}
