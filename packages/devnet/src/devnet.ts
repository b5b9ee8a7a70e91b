import { startProcess } from '@tollgate/processes'
import { startApps, type Overrides, type Apps } from './apps'
import { devnetDescription } from './devnet-file'
import { startInfrastructure } from './infrastructure'
import { type ProcessGroup } from './process-group'
import { type State } from './state'

/** Rebuilds on changes; the services run with `--watch` and restart. */
const startCompiler = (root: string, state: State) =>
  startProcess({
    name: 'compiler',
    command: process.execPath,
    args: ['scripts/rebuild.mjs'],
    cwd: root,
    logFile: state.at('compiler.log'),
    ready: /Watching/,
    timeoutSeconds: 120,
  })

/** Starts everything, registers each process in `processes`, and writes `devnet.json`. `root` is a built checkout. */
export async function startDevnet(options: {
  root: string
  state: State
  processes: ProcessGroup
  watch?: boolean
  /** Uses the documented ports if free. Tests that kill a service must not: another checkout may take the port. */
  usualPorts?: boolean
  overrides?: Overrides
}): Promise<Apps> {
  const { root, state, processes, watch = false, usualPorts = true, overrides = {} } = options
  state.remove('devnet.json')
  const writeDescription = (apps: Apps) => state.writeJson('devnet.json', devnetDescription(apps))
  const infrastructure = await startInfrastructure({ root, state, processes })
  if (watch) await processes.addInfrastructure(startCompiler(root, state))
  const apps = await startApps({
    root,
    state,
    processes,
    infrastructure,
    watch,
    usualPorts,
    overrides,
    onRestart: writeDescription,
  })
  writeDescription(apps)
  return apps
}
