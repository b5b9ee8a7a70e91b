import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { onFreePort, startProcess, type ProcessExit, type RunningProcess } from '@tollgate/processes'
import { fetchJson } from './fetch-json'

export type ServiceOptions = {
  name: 'gateway' | 'facilitator'
  root: string
  logFile: string
  preferredPort: number | undefined
  preferredMetricsPort: number | undefined
  /** In addition to PORT and METRICS_PORT; `url` is the address of the service. */
  environment: (at: { port: number; url: string }) => NodeJS.ProcessEnv
  watch: boolean
  onCrash: (exit: ProcessExit) => void
  onRestart: () => void
}

/** As the images of the services have it: docs/adr/0033-one-heap-size-everywhere.md */
export const SERVICE_NODE_OPTIONS = '--max-old-space-size=256'

const FIRST_RESTART_DELAY_MS = 500
const MAX_RESTART_DELAY_MS = 10_000

export type RunningService = Awaited<ReturnType<typeof startService>>

/** Starts a service as in production and resolves once it is healthy. A service that crashes is restarted on the same port. */
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
        NODE_OPTIONS: SERVICE_NODE_OPTIONS,
        ...options.environment({ port, url: urlOf(port) }),
        PORT: String(port),
        HOST: '127.0.0.1',
        METRICS_PORT: String(metricsPort),
        METRICS_HOST: '127.0.0.1',
      },
      logFile,
      // Its own log line: a probe of the port could reach another service.
      ready: /"message":"serving"/,
      stopSeconds: 3,
      onExit: (exit) => {
        onCrash(exit)
        restart().catch(() => undefined)
      },
    })

  const restart = async () => {
    for (let delayMs = FIRST_RESTART_DELAY_MS; ; delayMs = Math.min(2 * delayMs, MAX_RESTART_DELAY_MS)) {
      await delay(delayMs, undefined, { signal: stopping.signal })
      try {
        running = await launch(port, metricsPort)
        onRestart()
        return
      } catch {
        // The log of the service has the error; the next attempt follows after a longer delay.
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
    /** The preferred port, if another program has it. */
    occupiedPort: options.preferredPort === port ? undefined : options.preferredPort,
    metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
    pid: () => running.pid,
    /** Kills it after `seconds`, 3 by default. */
    async stop(seconds?: number): Promise<ProcessExit> {
      stopping.abort()
      // A service that is restarting ends with our process: see startProcess.
      await running.stop(seconds)
      return running.exited
    },
  }
}

const urlOf = (port: number) => `http://127.0.0.1:${port}`

async function waitUntilHealthy(url: string) {
  const { status } = await fetchJson(`${url}/health`)
  if (status !== 200) throw new Error(`${url}/health answered ${status}`)
}
