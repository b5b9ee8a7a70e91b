import { startApps, type Apps } from './apps'
import { devnetDescription } from './devnet-file'
import { startFoundation } from './foundation'
import { type Parts } from './parts'
import { type State } from './state'

/**
 * Brings up everything on this machine, registering each part in `parts` as it comes up, and writes `devnet.json` once all
 * is healthy. `root` is the checkout, built.
 */
export async function startDevnet(options: {
  root: string
  state: State
  parts: Parts
  watch?: boolean
}): Promise<Apps> {
  const { root, state, parts, watch = false } = options
  state.remove('devnet.json')
  const writeDescription = (apps: Apps) => state.writeJson('devnet.json', devnetDescription(apps))
  const foundation = await startFoundation({ root, state, parts })
  const apps = await startApps({ root, state, parts, foundation, watch, onRestart: writeDescription })
  writeDescription(apps)
  return apps
}
