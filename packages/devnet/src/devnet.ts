import { startApps, type Alterations, type Apps } from './apps'
import { devnetDescription } from './devnet-file'
import { startFoundation } from './foundation'
import { type Parts } from './parts'
import { startProcess } from './process'
import { type State } from './state'

/** Builds again whatever changes; the services, started with `--watch`, restart on what it writes. */
const startCompiler = (root: string, state: State) =>
  startProcess({
    name: 'compiler',
    command: process.execPath,
    args: [
      'node_modules/typescript/bin/tsc',
      '--build',
      '--watch',
      '--preserveWatchOutput',
      'apps/gateway',
      'apps/facilitator',
    ],
    cwd: root,
    logFile: state.at('compiler.log'),
    ready: /Watching for file changes/,
    timeoutSeconds: 120,
  })

/**
 * Brings up everything on this machine, registering each part in `parts` as it comes up, and writes `devnet.json` once all
 * is healthy. `root` is the checkout, built.
 */
export async function startDevnet(options: {
  root: string
  state: State
  parts: Parts
  watch?: boolean
  /** Puts the services on the ports they are known by, if these are free. Who kills one should not: another copy takes its port. */
  usualPorts?: boolean
  alterations?: Alterations
}): Promise<Apps> {
  const { root, state, parts, watch = false, usualPorts = true, alterations = {} } = options
  state.remove('devnet.json')
  const writeDescription = (apps: Apps) => state.writeJson('devnet.json', devnetDescription(apps))
  const foundation = await startFoundation({ root, state, parts })
  if (watch) await parts.addFoundation(startCompiler(root, state))
  const apps = await startApps({
    root,
    state,
    parts,
    foundation,
    watch,
    usualPorts,
    alterations,
    onRestart: writeDescription,
  })
  writeDescription(apps)
  return apps
}
