import { chromium, type Page } from 'playwright-core'
import { chromiumPath } from './chromium'
import { bundle, servePage } from './page-server'

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

/** Waiting is limited by the test's own timeout. */
const NO_TIMEOUT = 0

type LaunchOptions = {
  /** A folder for what outlives the browser; without it nothing does. */
  profile?: string
  /** Functions of Node that each page may call. */
  functions?: Record<string, (...args: never[]) => unknown>
}

export async function launchBrowser({ profile, functions = {} }: LaunchOptions = {}) {
  const options = { executablePath: chromiumPath(), args: FLAGS, timeout: NO_TIMEOUT }
  const context = profile
    ? await chromium.launchPersistentContext(profile, options)
    : await (await chromium.launch(options)).newContext()
  const browser = context.browser()
  if (!browser) throw new Error('The context belongs to no browser')
  context.setDefaultTimeout(NO_TIMEOUT)
  for (const [name, run] of Object.entries(functions)) await context.exposeFunction(name, run)
  const errors: string[] = []
  const uncaught: string[] = []
  context.on('console', (message) => message.type() === 'error' && errors.push(message.text()))
  context.on('weberror', (error) => {
    errors.push(error.error().message)
    uncaught.push(error.error().message)
  })

  const processes = async (): Promise<{ type: string; id: number }[]> => {
    const session = await browser.newBrowserCDPSession()
    return (await session.send('SystemInfo.getProcessInfo')).processInfo
  }

  return {
    context,
    /** What pages wrote to the console as an error, or did not catch. */
    errors,
    /** Of these, what pages did not catch. */
    uncaught,
    processes,
    /** With SIGKILL, all its processes. `close` is still to be called. */
    async kill() {
      const disconnected = new Promise((resolve) => browser.once('disconnected', resolve))
      for (const { id } of await processes()) killIfAlive(id)
      await disconnected
    },
    async close() {
      await context.close()
      await browser.close()
    },
  }
}

export type TestBrowser = Awaited<ReturnType<typeof openBrowser>>

type BrowserOptions = LaunchOptions & {
  /** The source of a module, which imports as a file in `folder` does. */
  script: string
  folder: string
  /** Files in the place of imported modules. */
  alias?: Record<string, string>
  /** Of an earlier browser, to have its origin again. */
  port?: number
}

/**
 * Serves `script` as a bundle, and opens pages of it. Pages share an origin and its storage, and each runs in a process of its own.
 */
export async function openBrowser({
  script,
  folder,
  alias = {},
  port: wantedPort = 0,
  ...launch
}: BrowserOptions) {
  const stdin = { contents: script, resolveDir: folder }
  const server = await servePage(await bundle({ stdin, alias }), wantedPort)
  const { context, ...browser } = await launchBrowser(launch)
  return {
    ...browser,
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    async openPage(host = '127.0.0.1'): Promise<Page> {
      const page = await context.newPage()
      await page.goto(`http://${host}:${server.port}`)
      return page
    },
    async close() {
      await browser.close()
      await server.stop()
    },
  }
}

function killIfAlive(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended with its parent.
  }
}
