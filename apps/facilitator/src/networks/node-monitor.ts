import { type NodesCheck } from '@tollgate/chains'
import { withTimeout } from '@tollgate/protocol'
import { type Logger } from '@tollgate/service'
import { type Network } from './network'

const POLL_INTERVAL_MS = 30_000
const MAX_AGE_MS = 5_000
/** Later calls return the previous check at once. */
const FIRST_CHECK_TIMEOUT_MS = 1_000

/** Logs when the nodes of a network start or stop to lack features that payments need. */
export function createNodeMonitor({ name, chain }: Pick<Network, 'name' | 'chain'>, logger: Logger) {
  let latest: NodesCheck | undefined
  let running: Promise<void> | undefined
  let checkedAt = -Infinity
  let timer: NodeJS.Timeout | undefined

  async function run(): Promise<void> {
    try {
      const checked = await chain.node.check?.()
      if (checked !== undefined) update(checked)
    } catch (error) {
      logger.debug('network nodes check failed', { network: name, error })
    } finally {
      checkedAt = performance.now()
      running = undefined
    }
  }
  const refresh = (): Promise<void> => (running ??= run())

  function update(checked: NodesCheck): void {
    const before = latest?.problems.join() ?? ''
    latest = checked
    const { problems, isUsable } = checked
    if (problems.join() === before) return
    if (problems.length === 0) logger.info('network nodes complete', { network: name })
    else
      logger.log(isUsable ? 'warn' : 'error', 'network nodes incomplete', {
        network: name,
        problems,
        isUsable,
      })
  }

  return {
    /** Undefined before the first check, or if the family needs none. */
    async check(): Promise<NodesCheck | undefined> {
      if (chain.node.check === undefined) return undefined
      if (performance.now() - checkedAt > MAX_AGE_MS) void refresh()
      if (latest === undefined && running !== undefined)
        await withTimeout(running, FIRST_CHECK_TIMEOUT_MS, () => undefined)
      return latest
    },
    begin() {
      void refresh()
      timer ??= setInterval(() => void refresh(), POLL_INTERVAL_MS).unref()
    },
    close: () => clearInterval(timer),
  }
}
