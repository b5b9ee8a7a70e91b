import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { askJson } from './ask'
import { onFreePort } from './ports'
import { startProcess, type ProcessExit, type RunningProcess } from './process'

export type ServiceOptions = {
  name: 'gateway' | 'facilitator'
  root: string
  logFile: string
  preferredPort: number | undefined
  preferredMetricsPort: number | undefined
  /** Beside PORT and METRICS_PORT; `url` is where the service will be reached. */
  environment: (at: { port: number; url: string }) => NodeJS.ProcessEnv
  watch: boolean
  onCrash: (exit: ProcessExit) => void
  onRestart: () => void
}

const RESTART_AFTER_MS = 500
const LONGEST_RESTART_MS = 10_000

export type RunningService = Awaited<ReturnType<typeof startService>>

/**
 * Starts one of our services as it runs in production, a process of its own with its environment, and answers once it is
 * healthy. One that ends although nobody asked it to is started again on the same port, as a cluster would.
 */
export async function startService(options: ServiceOptions) {
  const { name, root, logFile, watch, onCrash, onRestart } = options
  const main = join(root, 'apps', name, 'dist', 'main.js')
  const stopping = new AbortController()
  let running: RunningProcess

  const launch = (port: number, metricsPort: number) =>
    startProcess({
      name,
      command: process.execPath,
      args: [...(watch ? ['--watch', '--watch-preserve-output'] : []), main],
      cwd: root,
      env: {
        PATH: process.env['PATH'],
        HOME: process.env['HOME'],
        ...options.environment({ port, url: urlOf(port) }),
        PORT: String(port),
        HOST: '127.0.0.1',
        METRICS_PORT: String(metricsPort),
        METRICS_HOST: '127.0.0.1',
      },
      logFile,
      // Its own word, and not an answer at its port: there another copy's service may be listening.
      ready: /"message":"serving"/,
      stopSeconds: 3,
      onExit: (exit) => {
        onCrash(exit)
        restart().catch(() => undefined)
      },
    })

  const restart = async () => {
    for (let pause = RESTART_AFTER_MS; ; pause = Math.min(2 * pause, LONGEST_RESTART_MS)) {
      await delay(pause, undefined, { signal: stopping.signal })
      try {
        running = await launch(port, metricsPort)
        onRestart()
        return
      } catch {
        // It told why in its log; it is tried again, less and less often.
      }
    }
  }

  const { port, metricsPort } = await onFreePort(options.preferredPort, (free) =>
    onFreePort(options.preferredMetricsPort, async (freeForMetrics) => {
      running = await launch(free, freeForMetrics)
      return { port: free, metricsPort: freeForMetrics }
    }),
  )
  const url = urlOf(port)
  await waitUntilHealthy(url)
  return {
    url,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    pid: () => running.pid,
    async stop() {
      stopping.abort()
      // One that is just being started again ends with us: see startProcess.
      await running.stop()
    },
  }
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`

async function waitUntilHealthy(url: string) {
  const { status } = await askJson(`${url}/health`)
  if (status !== 200) throw new Error(`${url}/health answered ${status}`)
}
