import { type NodesCheck } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { setTimeout as delay } from 'node:timers/promises'
import { type Network } from './network'

const WATCH_MS = 30_000
const FRESH_MS = 5_000
/** How long a question waits for the first check of all; later ones are answered by the one before. */
const FIRST_MS = 1_000

/**
 * Watches what the nodes of a network lack that payments need, and leaves a line in the log where that changes. A node that gives
 * no answer keeps no question waiting.
 */
export function createNodesWatch({ name, chain }: Pick<Network, 'name' | 'chain'>, logger: Logger) {
  let latest: NodesCheck | undefined
  let running: Promise<void> | undefined
  let checkedAt = -Infinity
  let timer: NodeJS.Timeout | undefined

  async function ask(): Promise<void> {
    try {
      const checked = await chain.checkNodes?.()
      if (checked !== undefined) note(checked)
    } catch (error) {
      logger.debug('network nodes check failed', { network: name, error })
    } finally {
      checkedAt = performance.now()
      running = undefined
    }
  }
  const refresh = (): Promise<void> => (running ??= ask())

  function note(checked: NodesCheck): void {
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
    /** The newest check; undefined where there was none, or none is needed. */
    async check(): Promise<NodesCheck | undefined> {
      if (chain.checkNodes === undefined) return undefined
      if (performance.now() - checkedAt > FRESH_MS) void refresh()
      if (latest === undefined && running !== undefined)
        await Promise.race([running, delay(FIRST_MS, undefined, { ref: false })])
      return latest
    },
    begin() {
      void refresh()
      timer ??= setInterval(() => void refresh(), WATCH_MS).unref()
    },
    close: () => clearInterval(timer),
  }
}
